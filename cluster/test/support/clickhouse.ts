import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { findPackages } from '../../../scripts/fetch-packages.mjs'

const packages = findPackages('cluster/test/clickhouse')
/** The native library is optional, since there is none for some platforms. */
const library = packages && join(packages, 'node_modules/@chdb/lib-linux-x64-gnu')
const chdb = library && existsSync(library) ? join(packages, 'node_modules/chdb/index.js') : undefined
const program = fileURLToPath(new URL('./clickhouse-server.mjs', import.meta.url))

/** `test`, or `test.skip` without chdb, so that the tests count as skipped. */
export const clickHouseTest = chdb === undefined ? test.skip : test
export const hasClickHouse = chdb !== undefined

export const PASSWORD = 'pass"wörd\'\\'

/** Runs clickhouse-server.mjs in a separate process. */
export class ClickHouse {
  readonly #folder = mkdtempSync(join(tmpdir(), 'trackpost-clickhouse-'))
  #process: ChildProcess | undefined
  port = 0

  async start(): Promise<void> {
    const args = [program, chdb as string, this.#folder, String(this.port), PASSWORD]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#process = child
    const ended = once(child, 'exit').then(() => {
      throw new Error('clickhouse-server.mjs has ended')
    })
    const [port] = await Promise.race([once(child.stdout, 'data'), ended])
    ended.catch(() => {})
    this.port = Number(port)
  }

  async close(): Promise<void> {
    const child = this.#process
    if (child !== undefined && child.exitCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async query<Row = Record<string, unknown>>(statement: string): Promise<Row[]> {
    const isSelect = /^select/i.test(statement)
    const response = await fetch(`http://127.0.0.1:${this.port}/`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`default:${PASSWORD}`).toString('base64')}` },
      body: isSelect ? `${statement} FORMAT JSONEachRow` : statement,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
}

/** A request without a fault is passed on to the server. */
export type Fault =
  | { kind: 'status'; status: number; text?: string }
  | { kind: 'exception'; code: number; name: string }
  /** The response has no end. It comes as fast as the client reads. */
  | { kind: 'flood' }
  | { kind: 'silence' }
  /** The response comes byte by byte, for ever. */
  | { kind: 'half' }
  /** The server handles the request, but the connection ends before the response. */
  | { kind: 'reset after' }

export interface Insert {
  lines: Array<Record<string, unknown>>
  bytes: number
  token: string | null
}

/** A proxy between collector and server that records inserts, and injects faults. */
export class FaultyWay {
  readonly inserts: Insert[] = []
  /** The number of bytes written for faults of the kind `flood`. */
  pouredBytes = 0
  /** The fault for every request, including those about the table. */
  every: Fault | undefined
  fault: (insert: Insert) => Fault | undefined = () => undefined
  readonly #server = createServer()
  readonly #target: ClickHouse

  constructor(target: ClickHouse) {
    this.#target = target
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async start(): Promise<void> {
    this.#server.on('request', async (request, response) => {
      const body = await bodyOf(request)
      const fault = this.every ?? this.#faultOf(request, body)
      if (fault?.kind === 'status') {
        response.writeHead(fault.status).end(fault.text ?? '<html>from a proxy</html>')
        return
      }
      if (fault?.kind === 'exception') {
        response.writeHead(500, { 'x-clickhouse-exception-code': fault.code })
        response.end(`Code: ${fault.code}. DB::Exception: it is so. (${fault.name})\n`)
        return
      }
      if (fault?.kind === 'flood') {
        response.writeHead(200)
        const chunk = Buffer.alloc(65_536, 'x')
        const pour = () => {
          if (response.destroyed) return
          this.pouredBytes += chunk.length
          response.write(chunk)
        }
        response.on('drain', pour)
        pour()
        return
      }
      if (fault?.kind === 'silence') return
      if (fault?.kind === 'half') {
        response.writeHead(200, { 'content-length': 1_000_000 })
        const timer = setInterval(() => response.write('x'), 100)
        response.once('close', () => clearInterval(timer))
        return
      }
      const { port } = this.#target
      const { url: path, method, headers } = request
      const onward = send(
        { host: '127.0.0.1', port, path, method, headers, agent: false },
        async (answer) => {
          const text = await bodyOf(answer)
          if (fault?.kind === 'reset after') response.socket?.resetAndDestroy()
          else response.writeHead(answer.statusCode ?? 0, answer.headers).end(text)
        },
      )
      onward.on('error', () => response.destroy())
      onward.end(body)
    })
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  #faultOf(request: IncomingMessage, body: Buffer): Fault | undefined {
    const parameters = new URL(request.url ?? '/', 'http://localhost').searchParams
    if (!/^insert/i.test(parameters.get('query') ?? '')) return undefined
    const lines = body.toString().split('\n').slice(0, -1)
    const insert = {
      lines: lines.map((line) => JSON.parse(line)),
      bytes: body.length,
      token: parameters.get('insert_deduplication_token'),
    }
    this.inserts.push(insert)
    return this.fault(insert)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks)
}
