/**
 * The sink: a server that receives and counts the events of every client. It runs in a separate process, so that its work is
 * not measured. It keeps the bodies of requests, and parses them only when the counts are requested.
 *
 * It sends the URLs of three servers to its parent, in one message: `answering` responds with 200 at once, `holding` reads the
 * request and never responds, and `control` has two paths:
 *
 * - `POST /reset` forgets all requests;
 * - `GET /counts` returns the counts since the last reset.
 */
import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'

/** A response that every client accepts: some clients read `code` or `status` in the body. */
const ACCEPTED = Buffer.from('{"success":true,"code":200,"status":1}')
/** @type {{ encoding: string | undefined, body: Buffer }[]} */
let posts = []

function receive(respond) {
  return (request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      posts.push({ encoding: request.headers['content-encoding'], body: Buffer.concat(chunks) })
      respond(response)
    })
    request.on('error', () => {})
  }
}

function answer(response, body) {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  response.end(body)
}

function eventsOf({ encoding, body }) {
  const text = encoding === 'gzip' ? gunzipSync(body) : body
  return { events: JSON.parse(text.toString()).batch, bytes: text.length }
}

function count() {
  const seen = new Set()
  const counts = { requests: 0, events: 0, unique: 0, bytes: 0, unreadable: 0 }
  for (const post of posts) {
    let read
    try {
      read = eventsOf(post)
      if (!Array.isArray(read.events)) throw new Error('no list of events')
    } catch {
      counts.unreadable++
      continue
    }
    let measured = 0
    for (const event of read.events) {
      const seq = event.properties?.seq
      if (typeof seq !== 'number') counts.unreadable++
      else if (seq >= 0) {
        measured++
        seen.add(seq)
      }
    }
    if (measured > 0) {
      counts.requests++
      counts.bytes += read.bytes
    }
    counts.events += measured
  }
  counts.unique = seen.size
  return counts
}

function control(request, response) {
  if (request.url === '/reset') {
    posts = []
    answer(response, ACCEPTED)
  } else {
    answer(response, Buffer.from(JSON.stringify(count())))
  }
}

async function listen(handler) {
  const server = createServer({ keepAliveTimeout: 120_000 }, handler)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

process.on('disconnect', () => process.exit(0))
process.send({
  answering: await listen(receive((response) => answer(response, ACCEPTED))),
  holding: await listen(receive(() => {})),
  control: await listen(control),
})
