import { platform } from '../runtime/platform.node.ts'

/** The build replaces the global `crypto` in jose with this, because Node.js 16 and 18 have no such global. */
export const crypto = platform.webCrypto()
