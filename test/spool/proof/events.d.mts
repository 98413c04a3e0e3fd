/**
 * Creates the event for an id. The same id always gives the same event, so that received events can be compared with
 * tracked events.
 */
export declare function eventOf(id: string): {
  readonly userId: string
  readonly event: string
  readonly messageId: string
  readonly timestamp: Date
  readonly properties: object
}
