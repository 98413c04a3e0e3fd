/** One message as it arrived, with `context` and `integrations` of its batch merged in. */
export interface ReceivedMessage {
  type: string
  messageId: string
  userId?: string
  anonymousId?: string
  previousId?: string
  groupId?: string
  event?: string
  name?: string
  category?: string
  timestamp: string
  properties?: Record<string, unknown>
  traits?: Record<string, unknown>
  context: Record<string, unknown>
  integrations: Record<string, unknown>
  _metadata?: Record<string, unknown>
}

export interface Fault {
  status: number
  headers?: Record<string, string>
}

export interface ReceiverOptions {
  port?: number
  writeKey?: string
  token?: string
  faults?: Fault[]
  keep?: (message: ReceivedMessage) => ReceivedMessage | undefined
}

export interface Receiver {
  readonly url: string
  readonly events: ReceivedMessage[]
  readonly duplicates: string[]
  readonly requests: {
    path: string
    status: number
    bytes: number
    retryCount: number
    ids: string[]
    atMs: number
  }[]
  readonly faults: Fault[]
  readonly bytes: number
  close(): Promise<void>
}

export function startReceiver(options?: ReceiverOptions): Promise<Receiver>
