/** The differences between Node.js and runtimes without `node:` modules. */
export interface Platform {
  /** A random UUID from the runtime's cryptographic source. */
  randomId(): string
  /** Web Crypto: Node.js 16 and 18 do not have it as a global. */
  webCrypto(): WebCrypto
  /**
   * Reads a private key, as far as the runtime can do so at once.
   *
   * @param pem PEM text, well-formed and not encrypted.
   * @throws anything when it cannot be read.
   */
  readPem(pem: string): PemKey
}

/** With the types of Node.js alone, there is no global of that name. */
export type WebCrypto = typeof globalThis.crypto

/** A private key that was read. */
export interface PemKey {
  /** PEM text of PKCS#8. */
  readonly pem: string
  /** The kind of key, as `node:crypto` calls it: `rsa`, `ec`, ... `undefined` when only the import will show it. */
  readonly type: string | undefined
  /** Length of the modulus. `undefined` when only the import will show it. */
  readonly bits: number | undefined
}

/**
 * Keeps hold of the asynchronous context in which it is made: what `AsyncLocalStorage` keeps apart for each request. Each
 * event with a callback has one: no closure around what the runtime keeps, which would double it.
 */
export interface CapturedContext {
  /** Runs code in the asynchronous context of the moment of capture. Where the runtime has none, just runs it. */
  runInAsyncScope<Result>(run: () => Result): Result
}

/** The `AsyncResource` of `node:async_hooks`, or what does the same elsewhere. The type is a name for debuggers. */
export type AsyncResourceClass = new (type: string) => CapturedContext

/** A value that stays with the code that it was set for, past each `await`. */
export interface AsyncLocal<Value> {
  /** Runs code for which {@link get} returns `value`, in all that it starts as well. */
  run<Result>(value: Value, run: () => Result): Result
  get(): Value | undefined
}

/** Makes such a value; `undefined` where the runtime has no asynchronous context. */
export type CreateAsyncLocal = <Value>() => AsyncLocal<Value> | undefined

/** The part of a channel of `node:diagnostics_channel` that is used. */
export interface Channel {
  /** Whether anybody would receive what is published. */
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

/** Returns the channel of that name, the same one for everybody in the process. */
export type OpenChannel = (name: string) => Channel
