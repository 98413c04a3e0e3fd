/**
 * Signs the assertions of a client, for example with a key in a key management service.
 *
 * @see RFC 7515
 */
export interface Signer {
  /**
   * The JWS algorithm of the signer: `RS256`, which every token server accepts, or another public-key algorithm (`RS384`,
   * `RS512`, `PS256`, ..., `ES256`, ..., `EdDSA`).
   */
  readonly algorithm: string
  /** The id of the key, if it is not `oauthSettings.keyId`. Read for every signature. */
  readonly keyId?: string
  /**
   * Signs `data`. The signature must have the format of JWS: for ECDSA, the two numbers one after the other, not DER. May take
   * up to `httpRequestTimeout`. If the promise rejects, the next token request calls `sign` again.
   */
  sign(data: Uint8Array): Promise<Uint8Array>
}
