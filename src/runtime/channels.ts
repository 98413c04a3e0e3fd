/** The part of a channel of `node:diagnostics_channel` that is used. */
export interface Channel {
  /** Whether anybody would receive what is published. */
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

/** Returns the channel of that name, the same one for everybody in the process. */
export type OpenChannel = (name: string) => Channel
