import { platform } from '../runtime/platform.node.ts'

/** Web Crypto for jose: the build puts it in the place of the global, which Node.js 16 and 18 do not have. */
export const crypto = platform.webCrypto()
