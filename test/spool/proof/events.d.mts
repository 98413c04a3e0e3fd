/**
 * Makes the event of an id, so that received events can be compared with tracked ones, whichever process sent
 * them.
 */
export declare function eventOf(id: string): {
  readonly userId: string
  readonly event: string
  readonly messageId: string
  readonly timestamp: Date
  readonly properties: object
}
