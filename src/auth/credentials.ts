/** How the client authenticates: with a value of the `Authorization` header that never changes, or with tokens. */
export type Credentials = string | TokenCredentials

/** Tokens that are fetched, expire and are renewed. */
export interface TokenCredentials {
  /**
   * The value of the `Authorization` header. A promise only while it has to be fetched first. The promise rejects with
   * a `DeliveryError` when there will be none. This never throws.
   */
  authorization(): string | Promise<string>
  /**
   * The same for a trial: of one request for a token at most, which is not repeated and changes nothing for the events.
   * Rejects with a `DeliveryError` when it fails.
   */
  tryOnce(): string | Promise<string>
  /** The service accepted this value. */
  onAccepted(authorization: string): void
  /**
   * The service refused this value with 401 or 511.
   *
   * @returns Whether the next {@link TokenCredentials.authorization} will be another one.
   */
  onUnauthorized(authorization: string): boolean
  /** Stops what is under way; what waits for a value fails. */
  abort(): void
  /** Like `abort`, and drops the held token; no credentials afterwards. */
  close(): void
}
