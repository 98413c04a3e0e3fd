/**
 * A server with the tracking API, for experiments: it keeps the received messages in memory, where they can be inspected. To
 * run it alone: `node examples/receiver.mjs 4010`, then set `host` of a client to `http://127.0.0.1:4010`.
 */
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const KINDS = ['identify', 'track', 'page', 'screen', 'group', 'alias']
const MAX_MESSAGE_BYTES = 32_768
const MAX_BATCH_BYTES = 500_000

/**
 * Starts a receiver on 127.0.0.1.
 *
 * @param {object} [options]
 * @param {number} [options.port] Default: any free port.
 * @param {string} [options.writeKey] The only accepted write key. Default: `'demo-write-key'`.
 * @param {string} [options.token] An OAuth access token that is also accepted. Default: none.
 * @param {{ status: number, headers?: Record<string, string> }[]} [options.faults] Responses to send to the next requests, in
 *   this order. More can be pushed at any time.
 * @param {(message: object) => object | undefined} [options.keep] Returns the message to store in place of the received one. If
 *   it returns `undefined`, the message is lost although the response is 200: a test can check that the loss is noticed.
 */
export async function startReceiver({
  port = 0,
  writeKey = 'demo-write-key',
  token = undefined,
  faults = [],
  keep = (message) => message,
} = {}) {
  const received = {
    /** Distinct messages, each with its `type`, in the order of arrival. */
    events: [],
    /** Ids of the messages that arrived again: one entry for each repetition. */
    duplicates: [],
    /** One entry per request: `{ path, status, bytes, retryCount, ids, atMs }`. */
    requests: [],
    faults,
    get bytes() {
      return this.requests.reduce((sum, { bytes }) => sum + bytes, 0)
    },
  }
  const seen = new Set()

  function record(message) {
    const { messageId, type, userId, anonymousId, event } = message
    // Like the real service, the receiver responds with 200 to messages without an identity or an event name, and drops them.
    if ((userId ?? anonymousId) == null || (type === 'track' && typeof event !== 'string')) return
    if (seen.has(messageId)) return received.duplicates.push(messageId)
    seen.add(messageId)
    const kept = keep(message)
    if (kept !== undefined) received.events.push(kept)
  }

  async function answer(request, response) {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const sent = Buffer.concat(chunks)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    const path = new URL(request.url, 'http://receiver').pathname
    const messages = readMessages(path, body)

    let fault = received.faults.shift()
    fault ??= check(request, path, body, messages, { writeKey, token })
    if (fault === undefined) messages.forEach(record)

    const { status, headers = {} } = fault ?? { status: 200 }
    received.requests.push({
      path,
      status,
      bytes: body.length,
      retryCount: Number(request.headers['x-retry-count'] ?? 0),
      ids: (messages ?? []).map(({ messageId }) => messageId),
      atMs: performance.now(),
    })
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(JSON.stringify({ success: status === 200 }))
  }

  const server = createServer((request, response) => {
    // A client that disconnects in the middle of its request must not disturb the rest.
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return Object.assign(received, {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      return closed
    },
  })
}

/** Returns the messages in a request, each with its type; `undefined` when the body cannot be read. */
function readMessages(path, body) {
  const kind = path.replace('/v1/', '')
  try {
    const json = JSON.parse(body.toString('utf8'))
    if (KINDS.includes(kind)) return [{ ...json, type: kind }]
    const { batch, context, integrations } = json
    return batch.map((message) => ({
      ...message,
      context: { ...context, ...message.context },
      integrations: { ...integrations, ...message.integrations },
    }))
  } catch {
    return undefined
  }
}

/** Returns the response that refuses a request; `undefined` for a good request. */
function check(request, path, body, messages, secrets) {
  const isBatch = path === '/v1/batch'
  if (request.method !== 'POST' || !(isBatch || KINDS.includes(path.replace('/v1/', '')))) {
    return { status: 404 }
  }
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) return { status: 400 }
  if (messages === undefined) return { status: 400 }
  if (!isAuthentic(request, body, secrets)) return { status: 401 }
  if (body.length > (isBatch ? MAX_BATCH_BYTES : MAX_MESSAGE_BYTES)) return { status: 400 }
  if (messages.some((message) => sizeOf(message) > MAX_MESSAGE_BYTES)) return { status: 400 }
  if (messages.some(({ type }) => !KINDS.includes(type))) return { status: 400 }
  return undefined
}

/** The write key is the user name of Basic credentials, with an empty password. In other requests, the key is in the body. */
function isAuthentic(request, body, { writeKey, token }) {
  const { authorization } = request.headers
  const isBearer = token !== undefined && authorization === `Bearer ${token}`
  if (isBearer || authorization === undefined) {
    return JSON.parse(body.toString('utf8')).writeKey === writeKey
  }
  return authorization === `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
}

function sizeOf(message) {
  return Buffer.byteLength(JSON.stringify(message))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startReceiver({
    port: Number(process.argv[2] ?? 4010),
    keep(message) {
      console.log(JSON.stringify(message))
    },
  })
  console.error(`listening on ${url}, for the write key 'demo-write-key'; Ctrl+C ends it`)
}
