/**
 * Runs each feature on each platform, and compares the results with table.ts. With WRITE_TABLE=1, docs/platforms.md
 * is written from table.ts.
 */
import type { ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { findPackages } from '../../scripts/fetch-packages.mjs'
import { createProject, type Project, REPOSITORY } from '../package/project.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { type Running, startProgram } from '../support/program.ts'
import { runtime, skip } from '../support/runtimes.ts'
import { type ServiceRequest, startService } from '../support/service.ts'
import { CLIENT_ID, CLIENT_PEM, KEY_ID, TokenServer } from '../support/token-server.ts'
import { bundleWorker, startWorker } from '../support/workerd.ts'
import { FEATURES, type Feature, PLATFORMS, type Platform, writeDocument } from './features/table.ts'

const WRITE_KEY = 'wk_Features_7'
const DOCUMENT = join(REPOSITORY, 'docs/platforms.md')
const NAMES = Object.keys(FEATURES) as Feature[]

type Result = Readonly<Record<string, unknown>>
type Results = Readonly<Record<string, Result>>

let project: Project
let tokens: TokenServer
let api: Loopback
let directory: string
/** One line for each event that the service accepted, by platform and feature. */
const received = new Map<string, string[]>()
const receivedOf = (platform: string, feature: string): string[] =>
  received.get(`${platform}/${feature}`) ?? []
/** The number of requests of the feature `retry`, by platform. */
const retries = new Map<string, number>()
/** What the messages of each platform name as their runtime. */
const runtimes = new Map<string, Set<string>>()
const running: ChildProcess[] = []

beforeAll(async () => {
  tokens = await TokenServer.start()
  api = await startService<Message>((request, response) => {
    const [, platform = '', feature = ''] = request.path.split('/')
    if (feature === 'down') return 503
    const key = `${platform}/${feature}`
    if (feature === 'retry') {
      const count = (retries.get(platform) ?? 0) + 1
      retries.set(platform, count)
      if (count === 2) response.setHeader('Retry-After', '1')
      if (count <= 2) return count === 1 ? 503 : 429
    }
    received.set(key, [...(received.get(key) ?? []), ...describeBatch(platform, request)])
    return 200
  })
  directory = mkdtempSync(join(tmpdir(), 'trackpost-features-'))
  project = await createProject()
  cpSync(join(REPOSITORY, 'test/runtimes/features'), join(project.folder, 'features'), { recursive: true })
})
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})
afterAll(async () => {
  await Promise.all([tokens?.close(), api?.close(), project?.remove()])
  rmSync(directory, { recursive: true, force: true })
})

interface Message {
  type: string
  userId: string
  event?: string
  properties?: object
  _metadata: { jsRuntime: string }
}

function describeBatch(platform: string, { headers, batch }: ServiceRequest<Message>): string[] {
  const { 'content-encoding': encoding, authorization = '' } = headers
  const isKnown = authorization === `Basic ${btoa(`${WRITE_KEY}:`)}` || tokens.accepts(authorization)
  const further = [
    ...(isKnown ? [] : ['with no credentials']),
    ...(authorization.startsWith('Bearer') ? ['with a token'] : []),
    ...(encoding === undefined ? [] : [encoding]),
  ]
  return batch.map(({ type, event, userId, properties = {}, _metadata: { jsRuntime } }) => {
    runtimes.set(platform, (runtimes.get(platform) ?? new Set()).add(jsRuntime))
    return [event ? `${event} of ${userId}` : type, ...further, ...Object.keys(properties)].join(', ')
  })
}

/** @param mode The mode in which host.mjs runs. Default: `id`. */
function settingsFor(id: string, mode = id): string {
  return JSON.stringify({
    mode,
    apiUrl: `${api.url}/${id}`,
    writeKey: WRITE_KEY,
    directory: join(directory, id),
    oauthSettings: { clientId: CLIENT_ID, clientKey: CLIENT_PEM, keyId: KEY_ID, authServer: tokens.url },
  })
}

function start(
  id: string,
  binary: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Running {
  const { folder } = project
  const life = startProgram(binary, args, {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', HOME: folder, NO_COLOR: '1', FEATURES: settingsFor(id), ...env },
  })
  running.push(life.child)
  return life
}

/** Runs all features in one process, and ends the process by SIGTERM, for which `closeOn` waits. */
async function runProcess(id: string, name: string, args: readonly string[] = []): Promise<Results> {
  const { line, ended } = start(id, runtime(name), [...args, join(project.folder, 'features/host.mjs')])
  const { results, pid } = JSON.parse(await line()) as { results: Results; pid: number }
  if (id !== 'exit') process.kill(pid, 'SIGTERM')
  const { code, signal } = await ended
  return { ...results, end: { end: signal ?? code } }
}

/** Writes a module with the entry points that can be bundled, and the bundler's error for each of the others. */
async function writeEntries(conditions: string[], external: string[]): Promise<void> {
  const entries: string[] = []
  const refusals: Record<string, string> = {}
  for (const name of ['trackpost/spool', 'trackpost/scope', 'trackpost/node']) {
    try {
      await build({
        stdin: { contents: `export * from '${name}'`, resolveDir: project.folder },
        bundle: true,
        write: false,
        format: 'esm',
        platform: 'browser',
        conditions,
        external,
        logLevel: 'silent',
      })
      entries.push(`${JSON.stringify(name)}: () => import('${name}')`)
    } catch (error) {
      refusals[name] = [...(error as Error).message.matchAll(/ERROR: (.*)$/gm)]
        .map(([, text]) => text)
        .join('; ')
    }
  }
  const text = `export const ENTRIES = { ${entries} }\nexport const REFUSALS = ${JSON.stringify(refusals)}\n`
  await project.write('features/entries.mjs', text)
}

async function runInWorkerd(id: string, flags: string[]): Promise<Results> {
  const binary = runtime('workerd')
  const external = flags.length > 0 ? ['cloudflare:*', 'node:*'] : ['cloudflare:*']
  await writeEntries(['workerd', 'worker', 'browser'], external)
  await bundleWorker(
    join(project.folder, 'features/worker.mjs'),
    join(project.folder, `${id}.bundle.mjs`),
    external,
  )
  const worker = await startWorker(binary, project.folder, `${id}.bundle.mjs`, flags)
  try {
    const response = await fetch(worker.url, { method: 'POST', body: settingsFor(id) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${text}\n${worker.log()}`)
    await vi.waitUntil(() => receivedOf(id, 'waitUntil').length > 0, { timeout: 60_000, interval: 10 })
    expect(worker.log()).toBe('')
    return JSON.parse(text)
  } finally {
    worker.stop()
  }
}

/** The modules of Node.js that Next.js provides to edge functions. */
const NEXT_MODULES = ['node:async_hooks', 'node:buffer', 'node:events', 'node:assert', 'node:util']

async function runInNext(id: string): Promise<Results> {
  const conditions = ['edge-light', 'worker', 'browser']
  await writeEntries(conditions, NEXT_MODULES)
  const bundle = join(project.folder, 'next.bundle.js')
  await build({
    entryPoints: [join(project.folder, 'features/next-function.mjs')],
    outfile: bundle,
    bundle: true,
    format: 'iife',
    target: 'es2022',
    platform: 'browser',
    conditions,
    external: NEXT_MODULES,
    logLevel: 'silent',
  })
  const host = join(project.folder, 'features/next-host.mjs')
  const { line, ended } = start(id, runtime('node-24'), [
    host,
    findPackages('test/frameworks') as string,
    bundle,
  ])
  const { results } = JSON.parse(await line())
  expect(await ended).toMatchObject({ code: 0 })
  return results
}

/**
 * Acts as the runtime interface of AWS Lambda: suspends the process when it asks for the next invocation, and later
 * resumes the process and sends the invocation.
 */
async function runInLambda(id: string): Promise<Results> {
  const results: Record<string, Result> = {}
  const left = NAMES.filter((name) => name !== 'closeOn')
  let current = ''
  let isOver = (): void => {}
  const over = new Promise<void>((resolve) => {
    isOver = resolve
  })
  const runtimeApi = await listen(async (request, response) => {
    if (request.method === 'POST') {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      results[current] = JSON.parse(Buffer.concat(chunks).toString())
      return response.writeHead(202).end('{"status":"OK"}')
    }
    const { pid } = lambda.child
    lambda.child.kill('SIGSTOP')
    const state = () => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
    while (state() !== 'T') await new Promise((resolve) => setImmediate(resolve))
    const next = left.shift() ?? (current === 'closeOn' ? undefined : 'closeOn')
    if (next === undefined) return isOver()
    current = next
    response.setHeader('Lambda-Runtime-Aws-Request-Id', next)
    response.end(JSON.stringify({ feature: next }))
    return lambda.child.kill('SIGCONT')
  })
  const lambda = start(id, runtime('node-24'), [join(project.folder, 'features/host.mjs')], {
    AWS_LAMBDA_RUNTIME_API: runtimeApi.url.slice('http://'.length),
  })
  try {
    await Promise.race([over, lambda.ended])
    // The end of a function that has an extension: Lambda sends SIGTERM to no other function.
    lambda.child.kill('SIGCONT')
    lambda.child.kill('SIGTERM')
    const { code, signal } = await lambda.ended
    return { ...results, end: { end: signal ?? code } }
  } finally {
    await runtimeApi.close()
  }
}

/** A second process delivers the event that the exit listener has left in the spool. */
async function runExit(id: string): Promise<Results> {
  const results = await runProcess(id, 'node-26')
  expect(receivedOf(id, 'spool')).toEqual([])
  const host = join(project.folder, 'features/host.mjs')
  const { ended } = start('adopt', runtime('node-26'), [host], { FEATURES: settingsFor(id, 'adopt') })
  expect(await ended).toMatchObject({ code: 0 })
  return { ...results, spool: {} }
}

interface Run {
  /** The runtime's name in test/runtimes/package.json. */
  readonly needs: string
  readonly run: (id: string) => Promise<Results>
}

const onNode = (needs: string): Run => ({ needs, run: (id) => runProcess(id, needs) })

const RUN: Readonly<Record<string, Run>> = {
  ...Object.fromEntries([16, 18, 20, 22, 24, 26].map((major) => [`node-${major}`, onNode(`node-${major}`)])),
  thread: onNode('node-26'),
  cluster: onNode('node-26'),
  permission: {
    needs: 'node-26',
    run: (id) => {
      const grants = ['--allow-net', '--allow-fs-read=*', `--allow-fs-write=${directory}/*`]
      return runProcess(id, 'node-26', ['--permission', ...grants])
    },
  },
  beforeExit: onNode('node-26'),
  exit: { needs: 'node-26', run: runExit },
  bun: onNode('bun'),
  deno: {
    needs: 'deno',
    run: (id) => {
      const grants = ['--allow-net', '--allow-env', `--allow-write=${directory}`]
      const read = `--allow-read=${project.folder},${directory}`
      return runProcess(id, 'deno', ['run', ...grants, read, '--node-modules-dir=manual'])
    },
  },
  workerd: { needs: 'workerd', run: (id) => runInWorkerd(id, []) },
  nodejs_compat: { needs: 'workerd', run: (id) => runInWorkerd(id, ['nodejs_compat']) },
  lambda: { needs: 'node-24', run: runInLambda },
  next: { needs: 'node-24', run: runInNext },
}

const done = new Map<string, Promise<Results>>()

/** Runs each platform once for all of its features. */
function resultsOf({ id }: Platform): Promise<Results> {
  const { needs, run } = RUN[id] as Run
  runtime(needs)
  if (id === 'next' && findPackages('test/frameworks') === undefined) {
    skip('Next.js is not in the cache: npm run frameworks')
  }
  if (id === 'lambda' && process.platform !== 'linux') skip('the state of a process is read from /proc')
  const results = done.get(id) ?? run(id)
  done.set(id, results)
  return results
}

describe.each(PLATFORMS)('on $title', (platform) => {
  test.each(NAMES)('%s has the result that table.ts expects', async (name) => {
    const results = await resultsOf(platform)

    const { saw, received } = FEATURES[name]
    const exception = platform.except[name]
    const { refused, isAbsent } = exception ?? {}
    if (refused !== undefined) expect(results[name]).toEqual({ refused: expect.stringContaining(refused) })
    else if (isAbsent) expect(results[name]).toHaveProperty('absent')
    else
      expect(results[name]).toEqual({
        saw: exception !== undefined && 'saw' in exception ? exception.saw : saw,
      })
    const isThere = refused === undefined && !isAbsent
    expect(receivedOf(platform.id, name).sort()).toEqual(exception?.received ?? (isThere ? received : []))
    expect([...(runtimes.get(platform.id) ?? [])]).toEqual([platform.jsRuntime ?? 'node'])
    if (name === 'closeOn' && isThere) expect(results['end']).toEqual({ end: 'SIGTERM' })
  })
})

test('docs/platforms.md is the text that table.ts gives', () => {
  if (process.env['WRITE_TABLE'] === '1') writeFileSync(DOCUMENT, writeDocument())

  expect(readFileSync(DOCUMENT, 'utf8')).toBe(writeDocument())
})
