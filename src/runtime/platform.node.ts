import { v4 } from '@lukeed/uuid/secure'
import type { Platform } from './platform.ts'

/** The platform of the main build. The build for edge runtimes puts `web.ts` in the place of this module. */
export const platform: Platform = {
  randomId: v4,

  // Node.js 16 and 18 have Web Crypto, but not as a global, where jose 6 expects it.
  async installWebCrypto() {
    const { webcrypto } = await import('node:crypto')
    Object.defineProperty(globalThis, 'crypto', { value: webcrypto, writable: true, configurable: true })
  },
}
