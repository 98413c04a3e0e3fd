import type { Platform } from './platform.ts'

/** The platform of the build for edge runtimes: what they all have, and no `node:` module. */
export const platform: Platform = {
  randomId: () => crypto.randomUUID(),
  installWebCrypto: async () => {},
}
