import { gunzipSync } from 'node:zlib'
import { type Loopback, listen } from './loopback.ts'

/** One message as it arrived. */
export interface ReceivedMessage {
  type: string
  messageId: string
  userId?: string
  event?: string
  timestamp: string
  properties?: Record<string, unknown>
  context: Record<string, unknown>
}

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
  const service: Loopback = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    const { batch } = JSON.parse(body.toString()) as { batch: ReceivedMessage[] }
    const isAccepted = request.url === '/v1/batch' && accepted.includes(request.headers.authorization ?? '')
    requests.push(batch.map(({ messageId }) => messageId))
    for (const message of isAccepted ? batch : []) {
      if (events.some(({ messageId }) => messageId === message.messageId)) duplicates.push(message.messageId)
      else events.push(message)
    }
    response.writeHead(isAccepted ? 200 : 401, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ success: isAccepted }))
  })
  return { url: service.url, events, duplicates, requests, close: service.close }
}
