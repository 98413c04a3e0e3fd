/** The event of an id: what arrives can be compared with what was tracked, whichever process sent it. */
export declare function eventOf(id: string): {
  readonly userId: string
  readonly event: string
  readonly messageId: string
  readonly timestamp: Date
  readonly properties: object
}
