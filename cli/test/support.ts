import { readFileSync, writeFileSync } from 'node:fs'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, inject, onTestFinished } from 'vitest'
import { newFolder, startUnowned } from '../../collector/test/support/process.ts'
import { listen } from '../../test/support/loopback.ts'
import { type Exit, type Running, startProgram } from '../../test/support/program.ts'
import { startService } from '../../test/support/service.ts'
import { main } from '../src/main.ts'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

export function launcher(): string {
  return join(inject('project'), 'node_modules/trackpost-cli/bin/trackpost.js')
}

export interface RunOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
  /** For stdin. Default: empty. */
  readonly input?: string | Buffer
  readonly node?: string
  readonly nodeArgs?: readonly string[]
}

/** Starts the installed command in a process of its own, and kills it when the test ends. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  const { env = {}, cwd, node = process.execPath, nodeArgs = [] } = options
  const { input = args.includes('-') ? null : '' } = options
  const all = [...nodeArgs, launcher(), ...args]
  const running = startProgram(node, all, { cwd, env: environment(env), input })
  onTestFinished(() => void running.child.kill('SIGKILL'))
  return running
}

/**
 * Runs the command within this process, since a start of Node.js takes longer than most commands, unless it reads stdin or
 * has settings of Node.js itself.
 */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Exit> {
  const { env = {}, ...ofProcess } = options
  const isOfProcess = Object.keys(ofProcess).length > 0 || 'NODE_EXTRA_CA_CERTS' in env
  if (isOfProcess || args.includes('-')) return start(args, options).ended
  const texts = { stdout: '', stderr: '' }
  const collect = (name: 'stdout' | 'stderr'): Writable =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        texts[name] += text
        done()
      },
    })
  const context = { stdout: collect('stdout'), stderr: collect('stderr'), env: environment(env) }
  const code = await main(args, context)
  return { code, signal: null, ...texts }
}

/** Without the Trackpost settings of this machine. */
function environment(own: Record<string, string>): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TRACKPOST_|VITEST|NODE_OPTIONS$|FORCE_COLOR$|npm_)/.test(name),
  )
  return { ...(Object.fromEntries(kept) as Record<string, string>), ...own }
}

/** Starts a server that is closed when the test ends. Returns its address, without a slash at the end. */
export async function serve(handler: RequestListener): Promise<string> {
  const { url, close } = await listen(handler)
  onTestFinished(close)
  return url
}

export { newFolder }

export function newFile(name: string, content: string | Buffer): string {
  const path = join(newFolder(), name)
  writeFileSync(path, content)
  return path
}

export interface TestCollector {
  readonly url: string
  readonly env: Record<string, string>
  events(query?: string): Promise<StoredEvent[]>
  stats(): Promise<{ accepted: number; rejected: number; byReason: Record<string, number> }>
  post(path: string, body: unknown): Promise<Response>
  stop(): Promise<void>
}

export interface StoredEvent {
  readonly status: string
  readonly reason: string | null
  readonly type: string
  readonly name: string | null
  readonly userId: string
  readonly messageId: string
  readonly message: Record<string, unknown> & { timestamp: string; properties: Record<string, unknown> }
}

/** Starts one collector for all tests of a file. Its events are deleted before each test. */
export function shareCollector(): TestCollector {
  const shared = {} as TestCollector
  beforeAll(async () => {
    Object.assign(shared, await launchCollector())
  })
  beforeEach(async () => {
    await fetch(`${shared.url}/api/events`, { method: 'DELETE' })
  })
  afterAll(() => shared.stop())
  return shared
}

/** Starts a collector for one test. */
export async function startCollector(...args: string[]): Promise<TestCollector> {
  const collector = await launchCollector(...args)
  onTestFinished(() => collector.stop())
  return collector
}

async function launchCollector(...args: string[]): Promise<TestCollector> {
  const { child, listens, ended } = startUnowned(['--port', '0', '--store', ':memory:', ...args])
  const url = await listens
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json()
  return {
    url,
    env: { TRACKPOST_HOST: url, TRACKPOST_WRITE_KEY: 'history' },
    async events(query = '') {
      const found: StoredEvent[] = []
      let cursor = ''
      do {
        const page = (await get(
          `/api/events?limit=1000&cursor=${cursor}&q=${encodeURIComponent(query)}`,
        )) as {
          events: StoredEvent[]
          next: string | null
        }
        found.push(...page.events)
        cursor = page.next ?? ''
      } while (cursor !== '')
      return found
    },
    stats: () => get('/api/stats') as ReturnType<TestCollector['stats']>,
    post: (path, body) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

export interface FaultServer {
  readonly url: string
  readonly env: Record<string, string>
  /** The messageIds of all requests that got a 2xx. */
  readonly taken: string[]
  requests: number
}

/** Keeps the messageIds of the batches for which `respond` returns `undefined`. */
export async function startServer(
  respond: (
    request: number,
    messageIds: readonly string[],
    response: ServerResponse,
  ) => number | 'open' | undefined,
): Promise<FaultServer> {
  const taken: string[] = []
  const { url, close } = await startService(({ batch }, response) => {
    const messageIds = batch.map(({ messageId }) => messageId)
    const status = respond(++server.requests, messageIds, response)
    if (status === undefined) taken.push(...messageIds)
    return status
  })
  onTestFinished(close)
  const server: FaultServer = {
    url,
    env: { TRACKPOST_HOST: url, TRACKPOST_WRITE_KEY: 'history' },
    taken,
    requests: 0,
  }
  return server
}

export function ndjson(count: number, from = 0): string {
  let text = ''
  for (let index = from; index < from + count; index++) {
    text += `${JSON.stringify({
      type: 'track',
      userId: `user-${index % 100}`,
      event: 'Bestellung "Größe L" aufgegeben',
      timestamp: new Date(Date.UTC(2024, 0, 1) + index * 1_000).toISOString(),
      properties: { number: index },
    })}\n`
  }
  return text
}

/** The state file of the import of `file`. */
export function stateOf(file: string): { line: number; offset: number; isDone: boolean } {
  return JSON.parse(readFileSync(`${file}.trackpost-state.json`, 'utf8'))
}
