import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
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

export interface ServiceRequest<Message = ReceivedMessage> {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The body after decompression. */
  readonly text: string
  readonly batch: readonly Message[]
}

/** The status; for `open`, nothing is sent. Default: 200. */
type Reply = number | 'open' | undefined

/**
 * The service that all suites but `faults` send to: those of `faults` also need broken bytes, so its oracle writes to sockets.
 * `respond` may set headers first.
 */
export function startService<Message = ReceivedMessage>(
  respond: (request: ServiceRequest<Message>, response: ServerResponse) => Reply | Promise<Reply>,
): Promise<Loopback> {
  return listen((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const bytes = Buffer.concat(chunks)
      const { url: path = '', headers } = request
      const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
      const { batch = [] } = text.startsWith('{') ? JSON.parse(text) : {}
      const status = (await respond({ path, headers, bytes, text, batch }, response)) ?? 200
      if (status === 'open') return
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ success: status === 200 }))
    })
  })
}
