export interface Platform {
  randomId(): string
  /** Not a global in Node.js 16 and 18. */
  webCrypto(): WebCrypto
  /** As far as the runtime can do so synchronously. @throws when the key cannot be read. */
  readPem(pem: string): PemKey
  /**
   * Returns a function that tells whether the code that calls it belongs to the same incoming request as this call. It is always
   * `true` where requests may share timers, sockets and promises. `undefined` on Cloudflare Workers outside of all requests.
   */
  claimRequest(): (() => boolean) | undefined
}

/** The types of Node.js have no global type of that name. */
export type WebCrypto = typeof globalThis.crypto

export interface PemKey {
  /** In the PKCS#8 format, unless `type` is `pkcs1`. */
  readonly pem: string
  /**
   * The name of the kind in `node:crypto`: `rsa`, `ec` and so on. On edge runtimes: `pkcs1`, `ec`, `short` (too short for an RSA key
   * of 2,048 bits), or `undefined` if only Web Crypto can tell.
   */
  readonly type: string | undefined
  /** Length of the modulus; `undefined` unless the key is known to be RSA. */
  readonly bits: number | undefined
}

/**
 * The asynchronous context in which it was made. Each event with a callback has one, so on Node.js it is an object of the runtime:
 * a wrapper would double the memory.
 */
export interface CapturedContext {
  runInAsyncScope<Result>(run: () => Result): Result
}

/** The `AsyncResource` of `node:async_hooks`, or an equivalent. `type` is a name for debuggers. */
export type AsyncResourceClass = new (type: string) => CapturedContext
