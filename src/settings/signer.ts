/**
 * Signs the assertions of a client. The key may be anywhere: in memory, or in a key management service.
 *
 * @see RFC 7515
 * @example
 * const signer: Signer = {
 *   algorithm: 'RS256',
 *   async sign(data) {
 *     const { Signature } = await kms.sign({
 *       KeyId: 'alias/tracking',
 *       Message: data,
 *       MessageType: 'RAW',
 *       SigningAlgorithm: 'RSASSA_PKCS1_V1_5_SHA_256',
 *     })
 *     return Signature
 *   },
 * }
 */
export interface Signer {
  /**
   * The JWS algorithm that it signs with: `RS256`, which every token server takes, or another one with a private key
   * (`RS384`, `RS512`, `PS256`, ..., `ES256`, ..., `EdDSA`).
   */
  readonly algorithm: string
  /** The id of the key, if it is not the one of the settings. Read for every signature. */
  readonly keyId?: string
  /**
   * Signs these bytes in the format of JWS: for ECDSA the two numbers one after the other, not DER. May take as long as a
   * request. If it rejects, the next token request calls it again.
   */
  sign(data: Uint8Array): Promise<Uint8Array>
}
