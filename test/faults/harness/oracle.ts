/**
 * The oracle: a separate process with the test servers. They speak HTTP/1.1 over raw sockets, so that the script of a row can
 * break any rule of the protocol. The oracle records every request, and keeps a ledger of the events that arrived.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { createServer as createTcp, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { mismatch, seeded } from './payload.ts'

/** One request, as a script gets it. */
export interface OracleRequest {
  /** Number of this request at its server, from 0. */
  index: number
  /** Number of its connection, from 0. */
  connection: number
  /** Whether an earlier request used the same connection. */
  isReused: boolean
  atMs: number
  method: string
  path: string
  headers: Record<string, string>
  /** The body. Complete in `script`, empty in `onHead`. */
  body: Buffer
  /** The number of messages in the batch. */
  events: number
}

/**
 * The actions of a script. A script that calls none of `reply`, `raw`, `close` and `reset` leaves the client without
 * a response.
 */
export interface OracleIO {
  readonly socket: Socket
  /** The state of the server. It is kept between calls, and the test can read and change it. */
  readonly state: Record<string, unknown>
  /** A seeded random number. */
  random(): number
  count(fault: string): void
  /** Sends a complete response. A 2xx status also calls `acknowledge()`. */
  reply(status: number, headers?: Record<string, string>, body?: string): void
  raw(bytes: string | Uint8Array): void
  /** Marks the events of the request as acknowledged in the ledger. */
  acknowledge(): void
  sleep(ms: number): Promise<void>
  close(): void
  /** Ends the connection with RST. */
  reset(): void
}

export type Script = (request: OracleRequest, io: OracleIO) => unknown

export interface ServerOptions {
  /** Source of the {@link Script} that runs when a request is complete. Default: 200. */
  script?: string
  /** Source of a {@link Script} that runs when the headers are complete. If it returns false, the body is not read. */
  onHead?: string
  /** Source of `(io) => unknown`, which runs for each new connection. If it returns false, the connection is not read. */
  onConnection?: string
  /** A key and a certificate in PEM format. */
  tls?: { key: string; cert: string }
  seed?: number
  state?: Record<string, unknown>
  /** Keeps request bodies up to this total size in bytes. Later requests are kept only as digests. Default: 16 MiB. */
  keepBytes?: number
}

export interface RecordedRequest {
  atMs: number
  connection: number
  headers: Record<string, string>
  events: number
  bodyBytes: number
  /** The numbers of the first and the last generated event. `isOrdered` says whether the numbers rise. */
  first: number
  last: number
  isOrdered: boolean
  /** The status that `reply` sent. */
  status: number | undefined
  body: string | undefined
  acknowledged: boolean
}

export interface ServerReport {
  requests: RecordedRequest[]
  connections: number
  openConnections: number
  /** The largest number of requests that a script handled at the same time. */
  maxActive: number
  maxOpenConnections: number
  counts: Record<string, number>
  /** The number of messages, repeats included. */
  messages: number
  /** The number of different message ids. */
  distinct: number
  acknowledged: number
  duplicates: number
  /** Violations of HTTP, of the format of batches, or of the rules for repeats. */
  violations: string[]
  /** For each event number, how often it was seen and whether it was acknowledged: `seen << 1 | acknowledged`. */
  ledger: string
  state: Record<string, unknown>
}

class OracleServer {
  readonly requests: RecordedRequest[] = []
  readonly counts: Record<string, number> = {}
  readonly violations: string[] = []
  readonly state: Record<string, unknown>
  readonly sockets = new Set<Socket>()
  readonly digests = new Map<string, string>()
  ledger = new Uint8Array(4_096)
  connections = 0
  maxOpen = 0
  active = 0
  maxActive = 0
  messages = 0
  duplicates = 0
  acknowledged = 0
  keptBytes = 0
  maxEvent = -1
  readonly random: () => number
  readonly server: Server
  readonly script: Script | undefined
  readonly onHead: Script | undefined
  readonly onConnection: ((io: OracleIO) => unknown) | undefined

  constructor(readonly options: ServerOptions) {
    this.random = seeded(options.seed ?? 1)
    this.state = options.state ?? {}
    this.script = compile(options.script)
    this.onHead = compile(options.onHead)
    this.onConnection = compile(options.onConnection)
    const accept = (socket: Socket): void => this.accept(socket)
    this.server =
      options.tls === undefined
        ? createTcp({ noDelay: true }, accept)
        : createTls({ key: readFileSync(options.tls.key), cert: readFileSync(options.tls.cert) }, accept)
  }

  count(fault: string): void {
    this.counts[fault] = (this.counts[fault] ?? 0) + 1
  }

  violate(text: string): void {
    if (this.violations.length < 50) this.violations.push(text)
  }

  accept(socket: Socket): void {
    const connection = this.connections++
    this.sockets.add(socket)
    // Counts 10 ms later: the event of a new connection may come before the `close` event of an earlier one.
    setTimeout(() => {
      this.maxOpen = Math.max(this.maxOpen, this.sockets.size)
    }, 10)
    socket.on('error', () => {})
    socket.on('close', () => this.sockets.delete(socket))
    if (this.onConnection?.(this.io(socket, undefined)) === false) return
    new Reader(this, socket, connection)
  }

  io(socket: Socket, acknowledge: (() => void) | undefined, requestIndex?: number): OracleIO {
    return {
      socket,
      state: this.state,
      random: this.random,
      count: (fault) => this.count(fault),
      acknowledge: () => acknowledge?.(),
      reply: (status, headers = {}, body = '{"success":true}') => {
        const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Status'}`]
        for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
        const hasBody = status !== 204 && status !== 304
        if (hasBody) {
          lines.push(`content-length: ${Buffer.byteLength(body)}`)
          if (headers['content-type'] === undefined) lines.push('content-type: application/json')
        }
        const record = requestIndex === undefined ? undefined : this.requests[requestIndex]
        if (record !== undefined) record.status = status
        // Acknowledges before the bytes are sent: afterwards the client may already have counted the events as delivered.
        if (status >= 200 && status < 300) acknowledge?.()
        if (!socket.destroyed) socket.write(`${lines.join('\r\n')}\r\n\r\n${hasBody ? body : ''}`)
      },
      raw: (bytes) => {
        if (!socket.destroyed) socket.write(bytes)
      },
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      close: () => socket.end(),
      reset: () => socket.resetAndDestroy(),
    }
  }

  /** Returns a function that acknowledges the request. */
  enter(request: OracleRequest): () => void {
    const { body } = request
    const keeps = this.keptBytes + body.length <= (this.options.keepBytes ?? 16_777_216)
    if (keeps) this.keptBytes += body.length
    const record: RecordedRequest = {
      atMs: request.atMs,
      connection: request.connection,
      headers: request.headers,
      events: 0,
      bodyBytes: body.length,
      first: -1,
      last: -1,
      isOrdered: true,
      status: undefined,
      body: keeps ? body.toString('utf8') : undefined,
      acknowledged: false,
    }
    this.requests.push(record)
    const numbers = request.method === 'POST' && body.length > 0 ? this.enterBatch(request, record) : []
    request.events = record.events
    return () => {
      if (record.acknowledged) return
      record.acknowledged = true
      for (const n of numbers) {
        if (((this.ledger[n] as number) & 1) === 0) this.acknowledged++
        this.ledger[n] = (this.ledger[n] as number) | 1
      }
    }
  }

  enterBatch(request: OracleRequest, record: RecordedRequest): number[] {
    const { body } = request
    if (body.length > 500_000) this.violate(`a body of ${body.length} bytes`)
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    } catch {
      this.violate('a body that is not UTF-8')
      return []
    }
    let envelope: { batch?: Record<string, unknown>[]; sentAt?: string; writeKey?: string }
    try {
      envelope = JSON.parse(text)
    } catch {
      this.violate('a body that is not JSON')
      return []
    }
    const batch = envelope.batch
    if (!Array.isArray(batch) || batch.length === 0) {
      this.violate('a batch without messages')
      return []
    }
    if (Number.isNaN(Date.parse(String(envelope.sentAt)))) this.violate(`sentAt: ${envelope.sentAt}`)
    if (typeof envelope.writeKey !== 'string') this.violate('no writeKey in the body')
    if (request.headers['content-type'] !== 'application/json') this.violate('content-type')
    record.events = batch.length
    const slices = sliceBatch(text)
    if (slices.length !== batch.length) this.violate(`${slices.length} slices, ${batch.length} messages`)
    const numbers: number[] = []
    for (let index = 0; index < batch.length; index++) {
      const message = batch[index] as Record<string, unknown>
      const slice = slices[index] ?? ''
      this.messages++
      const bytes = Buffer.byteLength(slice)
      if (bytes > 32_768) this.violate(`a message of ${bytes} bytes`)
      const { messageId } = message
      if (typeof messageId !== 'string' || messageId === '' || messageId.length >= 100) {
        this.violate(`messageId: ${String(messageId)}`)
        continue
      }
      const known = this.enterDigest(messageId, slice)
      const properties = message['properties'] as { n?: unknown; run?: unknown } | undefined
      if (typeof properties?.n !== 'number' || typeof properties.run !== 'string') continue
      const { n } = properties
      const wrong = mismatch(message)
      if (wrong !== undefined) this.violate(`event ${n} is corrupted: ${wrong}`)
      if (n >= this.ledger.length) {
        const grown = new Uint8Array(Math.max(n + 1, this.ledger.length * 2))
        grown.set(this.ledger)
        this.ledger = grown
      }
      this.maxEvent = Math.max(this.maxEvent, n)
      if (record.first < 0) record.first = n
      if (n <= record.last) record.isOrdered = false
      record.last = n
      const times = (this.ledger[n] as number) >> 1
      if (times > 0 && known === undefined) this.violate(`event ${n} came with two message ids`)
      this.ledger[n] = (Math.min(times + 1, 127) << 1) | ((this.ledger[n] as number) & 1)
      numbers.push(n)
    }
    return numbers
  }

  /** Returns true if a message with this id arrived before. */
  enterDigest(messageId: string, slice: string): true | undefined {
    const digest = createHash('md5').update(slice).digest('base64')
    const known = this.digests.get(messageId)
    if (known === undefined) {
      this.digests.set(messageId, digest)
      return undefined
    }
    this.duplicates++
    if (known !== digest) this.violate(`the repeat of ${messageId} has other bytes`)
    return true
  }

  /** Leaves the bodies out: a test reads them by `OracleHandle.run`. */
  report(): ServerReport {
    return {
      requests: this.requests.map((request) => ({ ...request, body: undefined })),
      connections: this.connections,
      openConnections: this.sockets.size,
      maxOpenConnections: this.maxOpen,
      maxActive: this.maxActive,
      counts: this.counts,
      messages: this.messages,
      distinct: this.digests.size,
      acknowledged: this.acknowledged,
      duplicates: this.duplicates,
      violations: this.violations,
      ledger: Buffer.from(this.ledger.subarray(0, this.maxEvent + 1)).toString('base64'),
      state: this.state,
    }
  }
}

/** Reads the requests of one connection, one after the other. */
class Reader {
  #chunks: Buffer[] = []
  #bytes = 0
  #request: OracleRequest | undefined
  #expected = 0
  #served = 0
  #isBusy = false
  #isGivenUp = false

  constructor(
    readonly owner: OracleServer,
    readonly socket: Socket,
    readonly connection: number,
  ) {
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
      void this.#advance()
    })
  }

  async #advance(): Promise<void> {
    if (this.#isBusy || this.#isGivenUp) return
    if (this.#request === undefined && !this.#readHead()) return
    const request = this.#request as OracleRequest
    if (this.#bytes < this.#expected) return
    const all = Buffer.concat(this.#chunks)
    request.body = all.subarray(0, this.#expected)
    const rest = all.subarray(this.#expected)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#bytes = rest.length
    this.#request = undefined
    this.#served++
    this.#isBusy = true
    request.index = this.owner.requests.length
    const acknowledge = this.owner.enter(request)
    const io = this.owner.io(this.socket, acknowledge, request.index)
    this.owner.maxActive = Math.max(this.owner.maxActive, ++this.owner.active)
    try {
      if (this.owner.script === undefined) io.reply(200)
      else await this.owner.script(request, io)
    } catch (error) {
      this.owner.violate(`the script failed: ${String(error)}`)
    }
    this.owner.active--
    this.#isBusy = false
    if (this.#bytes > 0) void this.#advance()
  }

  #readHead(): boolean {
    const all = Buffer.concat(this.#chunks)
    const end = all.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = all.toString('latin1', 0, end)
    const rest = all.subarray(end + 4)
    this.#chunks = [rest]
    this.#bytes = rest.length
    const [start = '', ...lines] = head.split('\r\n')
    const [method = '', path = ''] = start.split(' ')
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    this.#expected = Number(headers['content-length'] ?? 0)
    if (headers['transfer-encoding'] !== undefined) this.owner.violate('a chunked request')
    this.#request = {
      index: this.owner.requests.length,
      connection: this.connection,
      isReused: this.#served > 0,
      atMs: Date.now(),
      method,
      path,
      headers,
      body: Buffer.alloc(0),
      events: 0,
    }
    if (this.owner.onHead === undefined) return true
    const verdict = this.owner.onHead(this.#request, this.owner.io(this.socket, undefined))
    if (verdict === false) this.#isGivenUp = true
    return verdict !== false
  }
}

/** The text of each message of a batch, as it is in the body. */
function sliceBatch(text: string): string[] {
  const slices: string[] = []
  const start = text.indexOf('[', text.indexOf('"batch"'))
  let depth = 0
  let from = -1
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x22) {
      for (index++; text.charCodeAt(index) !== 0x22; index++) if (text.charCodeAt(index) === 0x5c) index++
    } else if (code === 0x7b || code === 0x5b) {
      if (depth === 0) from = index
      depth++
    } else if (code === 0x7d || code === 0x5d) {
      if (depth === 0) break
      depth--
      if (depth === 0) slices.push(text.slice(from, index + 1))
    }
  }
  return slices
}

// biome-ignore lint/suspicious/noExplicitAny: the test that sends a script knows its type
function compile(source: string | undefined): any {
  return source === undefined ? undefined : new Function('__name', `return ${source}`)((f: unknown) => f)
}

const servers = new Map<number, OracleServer>()
let lastId = 0

interface Command {
  call: number
  name: 'listen' | 'report' | 'run' | 'stop'
  server?: number
  options?: ServerOptions
  source?: string
}

process.on('message', async (command: Command) => {
  try {
    process.send?.({ call: command.call, value: await execute(command) })
  } catch (error) {
    process.send?.({ call: command.call, error: String(error) })
  }
})
// Ends the oracle when the test process has ended.
process.on('disconnect', () => process.exit(0))

async function execute({ name, server: id = 0, options = {}, source }: Command): Promise<unknown> {
  if (name === 'listen') {
    const server = new OracleServer(options)
    await new Promise<void>((resolve, reject) => {
      server.server.on('error', reject)
      server.server.listen(0, '127.0.0.1', resolve)
    })
    servers.set(++lastId, server)
    const address = server.server.address() as { port: number }
    return { id: lastId, port: address.port }
  }
  const server = servers.get(id)
  if (server === undefined) throw new Error(`no server ${id}`)
  if (name === 'report') return server.report()
  if (name === 'run') return compile(source)(server)
  for (const socket of server.sockets) socket.destroy()
  await new Promise((resolve) => server.server.close(resolve))
  servers.delete(id)
  return undefined
}
