/** A `CryptoKey` of Web Crypto, declared here because not every project has its types. */
export interface CryptoKeyLike {
  /** `'private'` for a private key; other keys are refused. */
  readonly type: string
  /** For RS256: `RSASSA-PKCS1-v1_5` with `SHA-256`. */
  readonly algorithm: object
  /** Whether the key can be exported; it need not be. */
  readonly extractable: boolean
  /** The uses of the key: `sign` must be among them. */
  readonly usages: readonly string[]
}

/** A `KeyObject` of `node:crypto`, declared here because not every runtime has its types. */
export interface KeyObjectLike {
  /** `'private'` for a private key; other keys are refused. */
  readonly type: string
  /** Exports the key; called once, for PKCS#8 in DER form. */
  // The overloads of the real one are assignable to `any` only.
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of the real one are assignable to `any` only
  export(options?: any): any
}
