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
