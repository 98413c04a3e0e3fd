/** The key that signs access tokens. */
export interface TokenKey {
  id: string
  /** In Base64. */
  secret: string
  /** Ids of revoked keys, the oldest first. */
  revoked: string[]
}

/** What the token server keeps in the store. Every method throws an error of the store when it cannot be read or written. */
export interface TokenMemory {
  /** Undefined if no key has been written yet, or if it cannot be read. */
  readKey(): TokenKey | undefined
  writeKey(key: TokenKey): void
  /** Returns false if this assertion was used before and has not expired. */
  useAssertion(jti: string, expiresAtMs: number, nowMs: number): boolean
}
