/** What differs between the builds of this package: the one for Node.js, and the one without `node:` modules. */
export interface Platform {
  /** A random UUID from the runtime's cryptographic source. */
  randomId(): string
  /** Makes Web Crypto a global where the runtime has it elsewhere. */
  installWebCrypto(): Promise<void>
}
