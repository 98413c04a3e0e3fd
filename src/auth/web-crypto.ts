import { platform } from '../runtime/platform.node.ts'

/**
 * Web Crypto for jose. The build replaces the global `crypto` in jose with it, because Node.js 16 and 18 have no such global.
 */
export const crypto = platform.webCrypto()
