/** How the client proves who it is. */
export interface Credentials {
  /** Whether {@link Credentials.onUnauthorized} can lead to other credentials: a token can be renewed, a key cannot. */
  readonly isRenewable: boolean
  /**
   * The value of the `Authorization` header. A promise only while it has to be fetched first.
   *
   * The promise rejects, with a `DeliveryError`, when there will be none. This never throws.
   */
  authorization(): string | Promise<string>
  /** The service took this value. */
  onAccepted(authorization: string): void
  /**
   * The service refused this value.
   *
   * @returns Whether the next {@link Credentials.authorization} will be another one.
   */
  onUnauthorized(authorization: string): boolean
  /** Stops what is under way: whoever waits is told that there will be none. */
  abort(): void
  /** Does that, forgets what is held, and has no more. */
  close(): void
}
