export declare function eventOf(id: string): {
  readonly userId: string
  readonly event: string
  readonly messageId: string
  readonly timestamp: Date
  readonly properties: object
}
