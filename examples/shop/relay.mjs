/**
 * A relay between the shop and the collector that simulates failures. It passes requests on, or answers them with the error
 * responses in `faults`, and keeps a list of the requests.
 */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** @param {string} target The address of the service to which requests are passed on. */
export async function startRelay(target) {
  /** One entry per request: `{ status, bytes, ids, atMs }`. */
  const requests = []
  /** Error responses to the next requests, in this order; these requests are not passed on. More can be pushed. */
  const faults = []

  async function answer(incoming, response) {
    const body = await buffer(incoming)
    const { batch } = JSON.parse(body)
    const { status, headers, text } = faults.shift() ?? (await passOn(target, incoming, body))

    const ids = batch.map(({ messageId }) => messageId)
    requests.push({ status, bytes: body.length, ids, atMs: performance.now() })
    response.writeHead(status, headers).end(text)
  }

  const server = createServer((incoming, response) => {
    // The shop sees a lost connection and sends the request again.
    answer(incoming, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    faults,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function passOn(target, { method, url, headers }, body) {
  const outgoing = request(new URL(url, target), {
    method,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  })
  outgoing.end(body)
  const [reply] = await once(outgoing, 'response')
  return { status: reply.statusCode, headers: reply.headers, text: await buffer(reply) }
}
