import { type ReceivedMessage, startService } from './service.ts'

export interface Receiver {
  readonly url: string
  /** Distinct messages, in the order of arrival. */
  readonly events: ReceivedMessage[]
  /** Ids of the messages that arrived again: one entry for each repetition. */
  readonly duplicates: string[]
  /** The ids of the messages of each request. */
  readonly requests: string[][]
  close(): Promise<void>
}

/** A service that keeps the messages that it gets, for tests of whole programs. Requests with other credentials get a 401. */
export async function startReceiver(secrets: { writeKey: string; token?: string }): Promise<Receiver> {
  const events: ReceivedMessage[] = []
  const duplicates: string[] = []
  const requests: string[][] = []
  const basic = `Basic ${Buffer.from(`${secrets.writeKey}:`).toString('base64')}`
  const accepted = [basic, `Bearer ${secrets.token}`]
  const { url, close } = await startService(({ path, headers, batch }) => {
    const isAccepted = path === '/v1/batch' && accepted.includes(headers.authorization ?? '')
    requests.push(batch.map(({ messageId }) => messageId))
    for (const message of isAccepted ? batch : []) {
      if (events.some(({ messageId }) => messageId === message.messageId)) duplicates.push(message.messageId)
      else events.push(message)
    }
    return isAccepted ? 200 : 401
  })
  return { url, events, duplicates, requests, close }
}
