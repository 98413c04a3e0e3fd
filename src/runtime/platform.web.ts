import type { AsyncResourceClass, CapturedContext, Platform } from './platform.ts'

/** A shorter key is not an RSA key of 2,048 bits, which has about 1,216 bytes. Elliptic curve keys have less than 300 bytes. */
const SHORTEST_RSA_BYTES = 1_190

/** Uses only APIs that all edge runtimes have, and no `node:` module. */
export const platform: Platform = {
  randomId: () => crypto.randomUUID(),

  webCrypto: () => crypto,

  // Web Crypto imports keys asynchronously, and only in PKCS#8. Only the label and the length can be checked synchronously.
  readPem(pem) {
    const [, label, base64 = ''] = /-----BEGIN ([A-Z ]+)-----([^-]*)/.exec(pem) ?? []
    const { length } = atob(base64.replace(/\s/g, ''))
    if (label !== 'PRIVATE KEY')
      return { pem, type: label === 'EC PRIVATE KEY' ? 'ec' : 'pkcs1', bits: undefined }
    return { pem, type: length < SHORTEST_RSA_BYTES ? 'short' : undefined, bits: undefined }
  },

  claimRequest() {
    const { WebSocketPair, navigator } = globalThis as {
      WebSocketPair?: new () => readonly [{ readonly readyState: unknown }]
      navigator?: { userAgent?: string }
    }
    if (WebSocketPair === undefined || navigator?.userAgent !== 'Cloudflare-Workers') return () => true
    try {
      // An object that belongs to the request: when code of another request reads its property, the runtime throws.
      const [mark] = new WebSocketPair()
      return () => {
        try {
          return mark.readyState !== undefined
        } catch {
          return false
        }
      }
    } catch {
      return undefined
    }
  },
}

/** Does not use `import`: most edge runtimes do not have the modules of Node.js, and bundlers for them would fail. */
function builtinModule(name: string): unknown {
  // `process` is not read from detect.ts, because the build loads that file after this one.
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
  try {
    return process?.getBuiltinModule?.(name)
  } catch {
    // In edge functions of Next.js, the functions of `process` exist but throw.
    return undefined
  }
}

/** Available on Cloudflare Workers with `nodejs_compat`, on Vercel and Next.js as a global, and not on other runtimes. */
const { AsyncLocalStorage } = (builtinModule('node:async_hooks') ?? globalThis) as {
  AsyncLocalStorage?: { snapshot?(): <Result>(run: () => Result) => Result }
}

export const AsyncResource: AsyncResourceClass = class implements CapturedContext {
  readonly #enter = AsyncLocalStorage?.snapshot?.()

  runInAsyncScope<Result>(run: () => Result): Result {
    if (this.#enter === undefined) return run()
    let hasRun = false
    try {
      return this.#enter(() => {
        hasRun = true
        return run()
      })
    } catch (error) {
      if (hasRun) throw error
      // On Cloudflare Workers, one request cannot enter the context of another request.
      return run()
    }
  }
}
