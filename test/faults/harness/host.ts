/** The host process: runs the program of one row with the built package, and reports what happened. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import type * as trackpost from '../../../src/index.ts'
import type { RealClock } from './clock.ts'
import { type HostReport, type Job, OUTCOMES, type Tools } from './outcomes.ts'
import { trackCall } from './payload.ts'

type Package = typeof trackpost
type Client = trackpost.Analytics
type Settings = trackpost.AnalyticsSettings

const clock = (globalThis as unknown as Record<symbol, RealClock>)[
  Symbol.for('trackpost.faults.clock')
] as RealClock
const job = JSON.parse(readFileSync(process.env['FAULTS_JOB'] ?? '', 'utf8')) as Job

const report: HostReport = {
  result: undefined,
  thrown: undefined,
  warnings: [],
  uncaught: [],
  tracked: 0,
  outcomes: '',
  byOutcome: {},
  repeatedOutcomes: 0,
  prematureOutcomes: 0,
  errors: {},
  messages: [],
  stats: undefined,
  imbalances: 0,
  closes: [],
  rssStartBytes: 0,
  rssMaxBytes: 0,
  leftResources: [],
  leftTimers: [],
  timerOverflows: 0,
  timers: [],
  addedListeners: [],
  leaks: [],
  lifeMs: 0,
  checkedResources: false,
}

process.on('warning', (warning) => {
  const { name, message } = warning
  report.warnings.push({ name, code: String((warning as { code?: string }).code ?? ''), message })
})
process.on('uncaughtExceptionMonitor', (error) => report.uncaught.push(String(error?.stack ?? error)))

const clients: Client[] = []
let outcomes = new Uint8Array(4_096)
let isInCall = false
let inspected = 0
/** The number of events tracked by `Tools.track` that have no outcome yet, by client. */
const open = new Map<Client, number>()

function settle(n: number, code: string | undefined): void {
  if (isInCall) report.prematureOutcomes++
  if (outcomes[n] !== 0) report.repeatedOutcomes++
  const at = code === undefined ? 1 : OUTCOMES.indexOf(code as (typeof OUTCOMES)[number])
  // A code that is not in OUTCOMES gets a number beyond the list, so that the test fails.
  outcomes[n] = at < 0 ? 255 : at
}

/** Searches for secrets in everything that `inspect` shows of a value, including its chain of causes. */
function searchForSecrets(value: unknown, where: string): void {
  let text: string
  try {
    text = inspect(value, { depth: 12, showHidden: true, maxStringLength: null, maxArrayLength: 1_000 })
  } catch {
    // Some programs throw an object on purpose that cannot be inspected.
    return
  }
  if (job.canaries.some((canary) => text.includes(canary))) report.leaks.push(where)
}

function watch(client: Client): void {
  clients.push(client)
  // After the listener of the client, so that the counts are those at the end.
  process.off('exit', write)
  process.on('exit', write)
}

function create(overrides: Record<string, unknown> = {}): Client {
  const client = new subject.Analytics({ ...job.settings, ...overrides } as Settings)
  watch(client)
  const settleForgotten = (
    ctx: Parameters<Parameters<typeof client.on<'track'>>[1]>[0] | undefined,
    code?: string,
  ): void => {
    const n = ctx?.event.properties?.['n']
    if (!job.forgets || typeof n !== 'number') return
    open.set(client, (open.get(client) ?? 0) - 1)
    settle(n, code)
  }
  client.on('track', (ctx) => settleForgotten(ctx))
  client.on('error', (event) => {
    const { reason } = event
    settleForgotten(event.ctx, reason.code)
    report.errors[reason.code] = (report.errors[reason.code] ?? 0) + 1
    if (report.messages.length < 20 && !report.messages.includes(reason.message)) {
      report.messages.push(reason.message)
    }
    if (inspected++ < 100) {
      searchForSecrets(event, `error event ${reason.code}`)
      searchForSecrets(reason.stack, `stack ${reason.code}`)
    }
  })
  return client
}

function track(client: Client, n: number, bytes?: number): void {
  if (n >= outcomes.length) {
    const grown = new Uint8Array(Math.max(n + 1, outcomes.length * 2))
    grown.set(outcomes)
    outcomes = grown
  }
  report.tracked = Math.max(report.tracked, n + 1)
  const call = trackCall(job.run, n, bytes)
  isInCall = true
  try {
    open.set(client, (open.get(client) ?? 0) + 1)
    if (job.forgets) client.track(call)
    else
      client.track(call, (error) => {
        open.set(client, (open.get(client) ?? 0) - 1)
        settle(n, error?.code)
      })
  } finally {
    isInCall = false
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimeout(resolve, ms))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const tools: Tools = {
  get pkg() {
    return subject
  },
  args: job.args,
  settings: job.settings,
  report,
  create,
  watch,
  track,
  async trackAll(client, from, to, bytes, perTurn = 250) {
    for (let n = from; n < to; n++) {
      track(client, n, bytes)
      if ((n - from) % perTurn === perTurn - 1) await turn()
    }
  },
  sleep,
  now: () => clock.now(),
  turn,
  async trackFor(client, from, to, ms, bytes) {
    const startMs = clock.now()
    for (let n = from; n < to; ) {
      const due = Math.min(to, from + Math.ceil(((clock.now() - startMs) / ms) * (to - from)))
      for (; n < due; n++) track(client, n, bytes)
      await sleep(5)
    }
  },
  async until(condition, ms) {
    const endMs = clock.now() + ms
    while (!condition()) {
      if (clock.now() >= endMs) return false
      await sleep(5)
    }
    return true
  },
  async close(client, options) {
    await client.closeAndFlush(options)
    report.closes.push({ withoutOutcome: open.get(client) ?? 0 })
  },
  countOf: (name) => {
    const at = OUTCOMES.indexOf(name as (typeof OUTCOMES)[number])
    return outcomes.subarray(0, report.tracked).reduce((sum, one) => sum + (one === at ? 1 : 0), 0)
  },
}

function tally(values: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function beyond(after: string[], before: string[]): string[] {
  const had = tally(before)
  return after.filter((value) => {
    const left = had.get(value) ?? 0
    had.set(value, left - 1)
    return left <= 0
  })
}

const resources = (): string[] => process.getActiveResourcesInfo().filter((name) => name !== 'Immediate')
const listeners = (): string[] =>
  process
    .eventNames()
    .flatMap((name) => Array.from({ length: process.listenerCount(name) }, () => String(name)))

const subject = (
  job.format === 'cjs'
    ? createRequire(import.meta.url)(job.packageFile)
    : await import(pathToFileURL(job.packageFile).href)
) as Package

// Node.js opens stdout and stderr at their first use. They must not count as left open by the SDK.
void process.stdout
void process.stderr
const resourcesBefore = resources()
report.rssStartBytes = process.memoryUsage.rss()
const sampler = setInterval(() => {
  report.rssMaxBytes = Math.max(report.rssMaxBytes, process.memoryUsage.rss())
  for (const client of clients) {
    const { accepted, delivered, failed, pending } = client.stats
    if (accepted !== delivered + failed + pending) report.imbalances++
  }
}, 25)
sampler.unref()

let isWritten = false
function write(): void {
  if (isWritten) return
  isWritten = true
  report.outcomes = Buffer.from(outcomes.subarray(0, report.tracked)).toString('base64')
  for (let n = 0; n < report.tracked; n++) {
    const name = OUTCOMES[outcomes[n] ?? 0] ?? 'unknown'
    report.byOutcome[name] = (report.byOutcome[name] ?? 0) + 1
  }
  for (const client of clients) {
    searchForSecrets(client, 'util.inspect(analytics)')
    searchForSecrets(JSON.stringify(client), 'JSON.stringify(analytics)')
  }
  const sum = (pick: (stats: trackpost.Stats) => number): number =>
    clients.reduce((total, client) => total + pick(client.stats), 0)
  const failures: Record<string, number> = {}
  for (const client of clients) {
    for (const [code, count] of Object.entries(client.stats.failures)) {
      if (count > 0) failures[code] = (failures[code] ?? 0) + count
    }
  }
  report.stats = {
    accepted: sum((stats) => stats.accepted),
    delivered: sum((stats) => stats.delivered),
    failed: sum((stats) => stats.failed),
    pending: sum((stats) => stats.pending),
    deferred: sum((stats) => stats.deferred),
    recovered: sum((stats) => stats.recovered),
    failures: failures as trackpost.Stats['failures'],
  }
  report.lifeMs = clock.now()
  report.timerOverflows = clock.overflows()
  report.timers = clock.timers()
  report.addedListeners = beyond(listeners(), listenersBefore)
  writeFileSync(job.reportFile, JSON.stringify(report))
}
process.on('exit', write)
const listenersBefore = listeners()

const program = new Function('__name', `return ${job.program}`)((f: unknown) => f) as (
  tools: Tools,
) => unknown
try {
  report.result = await program(tools)
} catch (error) {
  report.thrown = error instanceof Error ? (error.stack ?? error.message) : String(error)
}
if (clients.length > 0 && report.closes.length >= clients.length) {
  await sleep(1_000)
  await turn()
  report.leftResources = beyond(resources(), resourcesBefore)
  report.leftTimers = clock.liveTimers()
  report.checkedResources = true
}
