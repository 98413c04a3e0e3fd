import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project, REPOSITORY } from '../package/project.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { findRuntime, versionOf } from '../support/runtimes.ts'
import { CLIENT_ID, CLIENT_PEM, KEY_ID, TokenServer } from '../support/token-server.ts'
import { bundleWorker, startWorker } from '../support/workerd.ts'

const WRITE_KEY = 'wk_Runtimes_7'

/** A runtime, and a module system in which the package is loaded. */
interface Case {
  readonly name: string
  /** The runtime's name in test/runtimes/package.json. */
  readonly binary: string
  readonly title: string
  readonly modules: string
  readonly jsRuntime: string
  /** The arguments of the runtime before the program. */
  readonly args?: readonly string[]
  readonly flags?: readonly string[]
}

const bothModules = (binary: string, title: string, jsRuntime: string, args: string[] = []): Case[] =>
  ['ESM', 'CommonJS'].map((modules) => ({
    name: `${binary} ${modules}`,
    binary,
    title,
    modules,
    jsRuntime,
    args,
  }))

const inWorkerd = (title: string, flags: string[]): Case => {
  const shared = { binary: 'workerd', modules: 'ESM', jsRuntime: 'cloudflare-worker' }
  return { name: title, title, flags, ...shared }
}

const ALL: Case[] = [
  ...['16', '18', '20', '22', '24', '26'].flatMap((major) => bothModules(`node-${major}`, 'Node.js', 'node')),
  ...bothModules('bun', 'Bun', 'bun'),
  ...bothModules('deno', 'Deno', 'deno', [
    'run',
    '--allow-net',
    '--allow-env',
    '--allow-read',
    '--node-modules-dir=manual',
  ]),
  inWorkerd('workerd', []),
  inWorkerd('workerd with `nodejs_compat`', ['nodejs_compat']),
]

/** `RUNTIMES=node-16,bun` runs only the tests of these two runtimes. */
const chosen = process.env['RUNTIMES']?.split(',')
const CASES = ALL.filter(({ binary }) => chosen === undefined || chosen.includes(binary))

interface Received {
  readonly part: string
  readonly encoding: string | undefined
  readonly atMs: number
  readonly status: number
  readonly authorization: string | undefined
  /** The header `sec-fetch-mode`, which `fetch` of Node.js adds. */
  readonly fetchMode: unknown
  readonly batch: Record<string, unknown>[]
}

let project: Project
let tokens: TokenServer
let api: Loopback
/** The requests that the API received, by case. */
const received = new Map<string, Received[]>()
const rows: string[] = []

async function readEncoded(
  request: IncomingMessage,
): Promise<{ body: string; encoding: string | undefined }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const { 'content-encoding': encoding, 'content-length': length } = request.headers
  expect(length).toBe(String(bytes.length))
  return { body: (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8'), encoding }
}

beforeAll(async () => {
  tokens = await TokenServer.start()
  api = await listen(async (request, response) => {
    const [, name = '', part = '', ...path] = decodeURIComponent(request.url ?? '').split('/')
    const { body, encoding } = await readEncoded(request)
    const { batch, writeKey } = JSON.parse(body)
    const log = received.get(name) ?? []
    received.set(name, log)
    const { authorization, 'sec-fetch-mode': fetchMode } = request.headers
    const isFirst = !log.some((one) => one.part === part)
    const isKnown =
      part === 'oauth'
        ? tokens.accepts(authorization) && writeKey === WRITE_KEY
        : authorization === `Basic ${btoa(`${WRITE_KEY}:`)}`
    let status = path.join('/') === 'v1/batch' && isKnown ? 200 : 401
    if (isFirst && part === 'retry') status = 503
    if (isFirst && part === 'limit') status = 429
    if (encoding === 'gzip' && part === 'refused') status = 415
    log.push({ part, encoding, atMs: performance.now(), status, authorization, fetchMode, batch })
    response.writeHead(status, status === 429 ? { 'Retry-After': '1' } : {}).end('{"success":true}')
  })
  project = await createProject()
  await cp(join(REPOSITORY, 'test/runtimes/scenario'), join(project.folder, 'scenario'), { recursive: true })
  await bundleWorker(join(project.folder, 'scenario/worker.mjs'), join(project.folder, 'worker.bundle.mjs'))
}, 300_000)

afterAll(async () => {
  await Promise.all([tokens?.close(), api?.close(), project?.remove()])
  if (rows.length === 0) return
  const table = [
    '| Runtime | Version | Modules | Six kinds | Retry | 429 | Close | Own client | gzip | OAuth | `jsRuntime` |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...rows.sort(),
  ].join('\n')
  console.log(table)
  await mkdir(join(REPOSITORY, 'test-results'), { recursive: true })
  await writeFile(join(REPOSITORY, 'test-results/runtimes.md'), `${table}\n`)
})

async function runCase(
  { name, binary, modules, args = [], flags }: Case,
  path: string,
): Promise<Record<string, unknown>> {
  const oauthSettings = { clientId: CLIENT_ID, clientKey: CLIENT_PEM, keyId: KEY_ID, authServer: tokens.url }
  const config = { apiUrl: `${api.url}/${encodeURIComponent(name)}`, writeKey: WRITE_KEY, oauthSettings }
  if (flags !== undefined) {
    const worker = await startWorker(path, project.folder, 'worker.bundle.mjs', flags)
    try {
      const response = await fetch(worker.url, { method: 'POST', body: JSON.stringify(config) })
      const text = await response.text()
      if (!response.ok) throw new Error(`${text}\n${worker.log()}`)
      expect(worker.log()).toBe('')
      const results = JSON.parse(text)
      // workerd has `process.versions` only with this flag.
      expect(results.version !== undefined).toBe(flags.includes('nodejs_compat'))
      return { ...results, version: versionOf(binary) }
    } finally {
      worker.stop()
    }
  }
  const entry = join(project.folder, 'scenario', modules === 'ESM' ? 'entry.mjs' : 'entry.cjs')
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: project.folder,
    DENO_NO_UPDATE_CHECK: '1',
    SCENARIO: JSON.stringify(config),
  }
  const output = await new Promise<string>((resolve, reject) => {
    execFile(path, [...args, entry], { cwd: project.folder, env }, (error, stdout, stderr) => {
      if (error !== null || stderr !== '') reject(new Error(`${error?.message}\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
  })
  return JSON.parse(output)
}

test.concurrent.for(CASES)('$name', async (one, { skip }) => {
  const path = findRuntime(one.binary)
  skip(path === undefined, `${one.binary} is not in the cache: npm run runtimes`)
  const results = await runCase(one, path as string)

  const log = received.get(one.name) ?? []
  const of = (part: string): Received[] => log.filter((request) => request.part === part)
  const eventsOf = (part: string): Record<string, unknown>[] =>
    of(part).flatMap(({ status, batch }) => (status === 200 ? batch : []))

  const delivered = (count: number) => ({ delivered: count, failed: 0, pending: 0 })
  expect(results['kinds']).toEqual(delivered(6))
  expect(eventsOf('kinds').map(({ type }) => type)).toEqual([
    'identify',
    'track',
    'page',
    'screen',
    'group',
    'alias',
  ])
  expect(eventsOf('kinds')[1]).toMatchObject({ userId: 'usr_Zoë', properties: { price: 12.5, emoji: '🍰' } })
  for (const { messageId } of eventsOf('kinds')) {
    expect(messageId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }

  expect(results['retry']).toEqual(delivered(1))
  expect(of('retry').map(({ status }) => status)).toEqual([503, 200])
  expect(of('retry')[1]?.batch).toEqual(of('retry')[0]?.batch)

  expect(results['limit']).toEqual(delivered(1))
  const [limited, rested] = of('limit') as [Received, Received]
  expect([limited.status, rested.status]).toEqual([429, 200])
  // The server may see a timer of the client fire a little early.
  expect(rested.atMs - limited.atMs).toBeGreaterThan(950)

  expect(results['close']).toEqual({ ...delivered(250), late: 'closed' })
  expect(eventsOf('close')).toHaveLength(250)

  expect(results['objectClient']).toEqual({ ...delivered(1), requests: 1 })
  expect(of('object')).toEqual([])
  if (one.binary === 'node-16') expect(results['functionClient']).toBe('no fetch')
  else {
    expect(results['functionClient']).toEqual({ ...delivered(1), requests: 1 })
    expect(eventsOf('function')).toHaveLength(1)
    // Only `fetch` adds this header. By default, the client uses node:http.
    if (one.jsRuntime === 'node') expect(of('function')[0]?.fetchMode).toBe('cors')
  }
  if (one.jsRuntime === 'node')
    expect(new Set(log.filter(({ part }) => part !== 'function').map(({ fetchMode }) => fetchMode))).toEqual(
      new Set([undefined]),
    )

  expect(results['compress']).toEqual(delivered(50))
  expect(eventsOf('compress')).toHaveLength(50)
  expect(of('compress').map(({ encoding }) => encoding)).toEqual(['gzip'])
  expect(results['refused']).toEqual({ ...delivered(1), warnings: 1 })
  expect(of('refused').map(({ encoding, status }) => [encoding, status])).toEqual([
    ['gzip', 415],
    [undefined, 200],
  ])

  expect(results['oauth']).toEqual({ delivered: 2, failed: 0 })
  const authorizations = new Set(of('oauth').map(({ authorization }) => authorization))
  expect([...authorizations]).toEqual([expect.stringMatching(/^Bearer tok_/)])
  expect(results['badKey']).toBe('oauthSettings.clientKey')
  expect(tokens.refusals).toEqual([])

  const metadata = eventsOf('kinds')[0]?.['_metadata'] as { jsRuntime: string }
  expect(metadata.jsRuntime).toBe(one.jsRuntime)
  rows.push(
    `| ${one.title} | ${results['version']} | ${one.modules} | yes | yes | yes | yes | yes | yes | yes | \`${metadata.jsRuntime}\` |`,
  )
})
