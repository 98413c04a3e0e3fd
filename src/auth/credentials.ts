/** How the client proves who it is. */
export interface Credentials {
  /** Whether {@link Credentials.refused} can lead to other credentials: a token can be renewed, a key cannot. */
  readonly isRenewable: boolean
  /**
   * The value of the `Authorization` header. A promise only while it has to be fetched first.
   *
   * Rejects when there will be none: with a `DeliveryError` of code `auth`.
   */
  authorization(): string | Promise<string>
  /** The service refused this value: the next {@link Credentials.authorization} has to be another one. */
  refused(authorization: string): void
  /** Forgets what is held and stops what is under way. */
  close(): void
}
