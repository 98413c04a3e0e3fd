import { platform } from '../runtime/platform.node.ts'

/** Web Crypto for jose. The build puts it in place of the global `crypto`, which Node.js 16 and 18 do not have. */
export const crypto = platform.webCrypto()
