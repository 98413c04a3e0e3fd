import { randomUUID } from 'node:crypto'
import http from 'node:http'

const MAX_CONCURRENT_REQUESTS = 4
const MAX_BODY_BYTES = 500_000
/** Memory for the part of a body around the messages. */
const ENVELOPE_BYTES = 256

/** Servers on Node.js close an idle connection after 5 s: an idle socket must be closed earlier. */
const SILENCE_MS = 4_000

const LIBRARY = { name: 'floor', version: '0.0.0' }
const METADATA = { nodeVersion: process.versions.node, jsRuntime: 'node' }

/**
 * The floor: a minimal client that sends the same messages, for comparison. It does one `JSON.stringify` per event, joins the
 * strings, and posts them over `node:http` sockets that stay open. It has no retries, timers, plugins, queue limit or outcomes.
 *
 * It forms batches by the rule of the SDK: `flushAt` waiting events start a request while fewer than four requests are open,
 * and a batch takes all waiting events, up to 500,000 bytes.
 */
export class Floor {
  #post
  #flushAt
  #writeKey
  #batches = [newBatch()]
  #waiting = 0
  #inFlight = 0
  #isFlushing = false
  #drained = []

  constructor({ url, writeKey, flushAt }) {
    this.#flushAt = flushAt
    this.#writeKey = writeKey
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
    }
    this.#post = overHttp(`${url}/v1/batch`, headers)
  }

  track(event, callback) {
    const json = JSON.stringify({
      type: 'track',
      userId: event.userId,
      event: event.event,
      properties: event.properties,
      context: { library: LIBRARY },
      integrations: {},
      timestamp: new Date(),
      messageId: randomUUID(),
      _metadata: METADATA,
    })
    const bytes = Buffer.byteLength(json) + 1
    let batch = this.#batches[this.#batches.length - 1]
    if (batch.bytes + bytes > MAX_BODY_BYTES - ENVELOPE_BYTES) {
      batch = newBatch()
      this.#batches.push(batch)
    }
    batch.messages.push(json)
    batch.bytes += bytes
    if (callback) batch.callbacks.push(callback)
    this.#waiting++
    this.#sendWhatIsDue()
  }

  /** Resolves when there are no waiting events and no open requests. */
  flush() {
    if (this.#waiting === 0 && this.#inFlight === 0) return Promise.resolve()
    this.#isFlushing = true
    return new Promise((resolve) => {
      this.#drained.push(resolve)
      this.#sendWhatIsDue()
    })
  }

  #sendWhatIsDue() {
    while (
      this.#inFlight < MAX_CONCURRENT_REQUESTS &&
      (this.#waiting >= this.#flushAt || (this.#isFlushing && this.#waiting > 0))
    ) {
      const batch = this.#batches.shift()
      if (this.#batches.length === 0) this.#batches.push(newBatch())
      this.#waiting -= batch.messages.length
      this.#send(batch)
    }
  }

  #send(batch) {
    this.#inFlight++
    const text = `{"batch":[${batch.messages.join(',')}],"writeKey":"${this.#writeKey}","sentAt":"${new Date().toISOString()}"}`
    // The size of the body is known, so the text is encoded in one pass.
    const room = Buffer.allocUnsafeSlow(batch.bytes + ENVELOPE_BYTES)
    this.#post(room.subarray(0, room.write(text)), (status) => {
      if (status !== 200) throw new Error(`the sink responded with ${status}`)
      for (const callback of batch.callbacks) callback()
      this.#inFlight--
      this.#sendWhatIsDue()
      if (this.#inFlight === 0 && this.#waiting === 0) {
        this.#isFlushing = false
        for (const resolve of this.#drained.splice(0)) resolve()
      }
    })
  }
}

/**
 * Posts over `node:http`, with at most four keep-alive sockets. An agent of `node:http` has no time limit by default. Without
 * one, a request without a response would never end, and a socket could be used again after the server has closed it.
 */
function overHttp(url, headers) {
  const { hostname, port, pathname: path } = new URL(url)
  const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_CONCURRENT_REQUESTS, timeout: SILENCE_MS })
  const options = { hostname, port, path, method: 'POST', agent, headers }
  return (body, onStatus) => {
    const request = http.request(options, (response) => {
      response.resume()
      onStatus(response.statusCode)
    })
    request.on('timeout', () => request.destroy(new Error(`no response within ${SILENCE_MS} ms`)))
    request.on('error', fail)
    request.setHeader('Content-Length', body.length)
    request.end(body)
  }
}

function fail(error) {
  throw error
}

function newBatch() {
  return { messages: [], callbacks: [], bytes: 0 }
}
