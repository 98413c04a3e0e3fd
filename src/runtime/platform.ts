/** The differences between Node.js and runtimes without `node:` modules. */
export interface Platform {
  /** A random UUID from the runtime's cryptographic source. */
  randomId(): string
  /** Web Crypto: Node.js 16 and 18 do not have it as a global. */
  webCrypto(): WebCrypto
  /**
   * Reads a private key, as far as the runtime can do so synchronously.
   *
   * @param pem PEM text, well-formed and not encrypted.
   * @throws anything when it cannot be read.
   */
  readPem(pem: string): PemKey
}

/** Not `Crypto`: the types of Node.js have no global type of that name. */
export type WebCrypto = typeof globalThis.crypto

/** A private key that was read. */
export interface PemKey {
  /** PEM text of PKCS#8. */
  readonly pem: string
  /** The kind of key, as `node:crypto` calls it: `rsa`, `ec`, ... `undefined` if it is not known before the import. */
  readonly type: string | undefined
  /** Length of the modulus. `undefined` if it is not known before the import. */
  readonly bits: number | undefined
}

/**
 * Captures the asynchronous context in which it is made: the values of all `AsyncLocalStorage` objects. Each event with a
 * callback has one. It is the runtime's own object: with a closure around it, it would take twice the memory.
 */
export interface CapturedContext {
  /** Runs code in the captured context, or just runs it if the runtime has no asynchronous contexts. */
  runInAsyncScope<Result>(run: () => Result): Result
}

/** The `AsyncResource` of `node:async_hooks`, or an equivalent. `type` is a name for debuggers. */
export type AsyncResourceClass = new (type: string) => CapturedContext

/** A value that some code and everything it starts can read, also after an `await`: an `AsyncLocalStorage`. */
export interface AsyncLocal<Value> {
  /** Runs code for which {@link get} returns `value`, also in everything that the code starts. */
  run<Result>(value: Value, run: () => Result): Result
  get(): Value | undefined
}

/** Makes such a value; `undefined` where the runtime has no asynchronous context. */
export type CreateAsyncLocal = <Value>() => AsyncLocal<Value> | undefined

/** The part of a channel of `node:diagnostics_channel` that is used. */
export interface Channel {
  /** Whether anybody receives the messages. */
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

/** Returns the channel of that name, the same one for everybody in the process. */
export type OpenChannel = (name: string) => Channel
