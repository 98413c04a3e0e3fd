/** The functions that differ between Node.js and runtimes without `node:` modules. */
export interface Platform {
  /** Returns a random UUID from the cryptographic random source of the runtime. */
  randomId(): string
  /** Returns Web Crypto, which is not a global in Node.js 16 and 18. */
  webCrypto(): WebCrypto
  /**
   * Reads a private key, as far as the runtime can do so synchronously.
   *
   * @param pem Well-formed PEM text that is not encrypted.
   * @throws any error when the key cannot be read.
   */
  readPem(pem: string): PemKey
}

/** The type of Web Crypto. The name `Crypto` is not used, because the types of Node.js have no such global type. */
export type WebCrypto = typeof globalThis.crypto

/** A private key that was read. */
export interface PemKey {
  /** PEM text in the PKCS#8 format. */
  readonly pem: string
  /**
   * The kind of key with its name in `node:crypto`: `rsa`, `ec` and so on. `undefined` if the kind is known only after the
   * import.
   */
  readonly type: string | undefined
  /** Length of the modulus in bits. `undefined` if it is known only after the import. */
  readonly bits: number | undefined
}

/**
 * The asynchronous context in which this object was made: the values of all `AsyncLocalStorage` objects. Each event with a
 * callback has one. It is an object of the runtime without a wrapper, which would double the memory.
 */
export interface CapturedContext {
  /** Runs code in the captured context. If the runtime has no asynchronous contexts, only runs the code. */
  runInAsyncScope<Result>(run: () => Result): Result
}

/** The `AsyncResource` of `node:async_hooks`, or an equivalent. `type` is a name for debuggers. */
export type AsyncResourceClass = new (type: string) => CapturedContext

/** An `AsyncLocalStorage`: holds a value that some code, and everything it starts, can read, also after an `await`. */
export interface AsyncLocal<Value> {
  /** Runs code for which {@link get} returns `value`, also in everything that the code starts. */
  run<Result>(value: Value, run: () => Result): Result
  get(): Value | undefined
}

/** Makes an {@link AsyncLocal}; `undefined` if the runtime has no asynchronous contexts. */
export type CreateAsyncLocal = <Value>() => AsyncLocal<Value> | undefined

/** The part of a channel of `node:diagnostics_channel` that is used. */
export interface Channel {
  /** Whether there is a subscriber. */
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

/** Returns the channel with this name. All callers in the process get the same channel. */
export type OpenChannel = (name: string) => Channel
