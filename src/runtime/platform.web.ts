import type {
  AsyncResourceClass,
  CapturedContext,
  Channel,
  CreateAsyncLocal,
  OpenChannel,
  Platform,
} from './platform.ts'

/** An RSA key of 2,048 bits takes 1,216 bytes or so; every elliptic curve key takes less than 300. */
const SHORTEST_RSA_BYTES = 1_190

/** The platform of edge runtimes. Uses only APIs that they all have, and no `node:` module. */
export const platform: Platform = {
  randomId: () => crypto.randomUUID(),

  webCrypto: () => crypto,

  // Web Crypto imports keys asynchronously, and only PKCS#8. This checks what can be checked synchronously.
  readPem(pem) {
    const [, label, base64 = ''] = /-----BEGIN ([A-Z ]+)-----([^-]*)/.exec(pem) ?? []
    const { length } = atob(base64.replace(/\s/g, ''))
    if (label !== 'PRIVATE KEY') return { pem, type: 'pkcs1', bits: undefined }
    return { pem, type: length < SHORTEST_RSA_BYTES ? 'short' : undefined, bits: undefined }
  },
}

/** The part of `AsyncLocalStorage` that is used. */
interface Storage<Value> {
  run<Result>(value: Value, run: () => Result): Result
  getStore(): Value | undefined
}
interface StorageClass {
  new <Value>(): Storage<Value>
  snapshot?(): <Result>(run: () => Result) => Result
}

/**
 * A module of Node.js, or `undefined` if the runtime does not have it. Not an import: most edge runtimes do not have these
 * modules, and their bundlers would fail.
 */
function builtinModule(name: string): unknown {
  // Does not use detect.ts, which the build loads after this file.
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
  try {
    return process?.getBuiltinModule?.(name)
  } catch {
    // Edge functions of Next.js have the functions of `process`, and each of them throws.
    return undefined
  }
}

/** Available behind a flag (workerd, `nodejs_compat`), as a global (Vercel, Next.js), or not at all. */
const { AsyncLocalStorage } = (builtinModule('node:async_hooks') ?? globalThis) as {
  AsyncLocalStorage?: StorageClass
}

/** The asynchronous context of edge runtimes, where they have one. */
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
      // On Cloudflare Workers, one request cannot enter the context of another.
      return run()
    }
  }
}

export const createAsyncLocal: CreateAsyncLocal = <Value>() => {
  if (AsyncLocalStorage === undefined) return undefined
  const storage = new AsyncLocalStorage<Value>()
  return {
    run: <Result>(value: Value, run: () => Result) => storage.run(value, run),
    get: () => storage.getStore(),
  }
}

const nobody: Channel = { hasSubscribers: false, publish() {} }

/** Available behind a flag (workerd, `nodejs_compat`), or not at all: then nobody can subscribe. */
const diagnostics = builtinModule('node:diagnostics_channel') as { channel: OpenChannel } | undefined

export const openChannel: OpenChannel = diagnostics?.channel ?? (() => nobody)
