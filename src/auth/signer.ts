/**
 * Signs the assertions of a client. The key may be anywhere: in memory, or in a key management service.
 *
 * @see RFC 7515
 */
export interface Signer {
  /** The JWS algorithm that it signs with, for instance `RS256`. */
  readonly algorithm: string
  /** The id of the key, if it is not the one of the settings. */
  readonly keyId?: string
  /** The signature of these bytes. May reject: it is tried again with the next token request. */
  sign(data: Uint8Array): Promise<Uint8Array>
}
