/**
 * The test process. It starts oracles (the processes of the test servers) and hosts (the processes that run the
 * client), and checks the rules of test/faults/README.md, section 1.0.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildSync } from 'esbuild'
import { afterAll, expect } from 'vitest'
import type { AnalyticsSettings, Stats } from '../../../src/index.ts'
import type { OracleIO, Script, ServerOptions, ServerReport } from './oracle.ts'
import { type HostReport, type Job, OUTCOMES, type Tools } from './outcomes.ts'

export const ROOT = resolve(import.meta.dirname, '../../..')
/** Whether rows use the numbers of test/faults/README.md instead of smaller ones. */
export const isFull = process.env['FAULTS_FULL'] === '1'
export const size = (normal: number, full: number): number => (isFull ? full : normal)
export const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

// A folder inside the repository, so that dependencies are found. test/faults/run.mjs sets another folder, and
// removes it at the end.
const scratchBase = process.env['FAULTS_SCRATCH'] ?? join(ROOT, '.cache')
mkdirSync(scratchBase, { recursive: true })
const scratch = mkdtempSync(join(scratchBase, 'faults-'))
export const scratchFile = (name: string): string => join(scratch, name)

// Bundles the programs of the processes once per test file: Node.js 20 cannot run TypeScript.
buildSync({
  entryPoints: ['oracle', 'host', 'clock'].map((name) => join(import.meta.dirname, `${name}.ts`)),
  outdir: scratch,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
})

/** The write key of all clients. It must appear only in requests. */
export const CANARY_KEY = 'canaryWriteKey7f3a9c51e2'
const base64 = (text: string): string => Buffer.from(text).toString('base64').replace(/=+$/, '')
export const CANARIES = [CANARY_KEY, base64(CANARY_KEY), base64(`${CANARY_KEY}:`)]

const children = new Set<ChildProcess>()
const oracles = new Set<Oracle>()
const reap = (): void => {
  for (const child of children) child.kill('SIGKILL')
}
process.on('exit', reap)
afterAll(async () => {
  for (const oracle of oracles) oracle.stop()
  reap()
  rmSync(scratch, { recursive: true, force: true })
})

type Source<F> = F | string

const sourceOf = (code: Source<(...args: never[]) => unknown> | undefined): string | undefined =>
  code === undefined ? undefined : String(code)

/** The functions run in the oracle, so they must use no variable of the test file. */
export type ServerSetup = Omit<ServerOptions, 'script' | 'onHead' | 'onConnection'> & {
  script?: Script
  onHead?: Script
  onConnection?: (io: OracleIO) => unknown
}

export class Oracle {
  readonly #child: ChildProcess
  readonly #calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  #lastCall = 0

  constructor() {
    this.#child = fork(join(scratch, 'oracle.mjs'), {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    children.add(this.#child)
    oracles.add(this)
    this.#child.on('exit', () => children.delete(this.#child))
    this.#child.on('message', (reply: { call: number; value?: unknown; error?: string }) => {
      const call = this.#calls.get(reply.call)
      this.#calls.delete(reply.call)
      if (reply.error === undefined) call?.resolve(reply.value)
      else call?.reject(new Error(`oracle: ${reply.error}`))
    })
  }

  async listen(setup: ServerSetup = {}): Promise<OracleHandle> {
    const { script, onHead, onConnection, ...rest } = setup
    const options = {
      ...rest,
      script: sourceOf(script),
      onHead: sourceOf(onHead),
      onConnection: sourceOf(onConnection),
    }
    const { id, port } = (await this.call({ name: 'listen', options })) as { id: number; port: number }
    return new OracleHandle(this, id, port)
  }

  call(command: object): Promise<unknown> {
    const call = ++this.#lastCall
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject })
      this.#child.send({ call, ...command })
    })
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  stop(): void {
    oracles.delete(this)
    this.#child.kill('SIGKILL')
  }
}

let shared: Oracle | undefined
/** Starts a server in the oracle that all tests of a file share. */
export function serve(setup: ServerSetup = {}): Promise<OracleHandle> {
  shared ??= new Oracle()
  return shared.listen(setup)
}

export class OracleHandle {
  constructor(
    readonly oracle: Oracle,
    readonly id: number,
    readonly port: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async report(): Promise<ServerReport> {
    return (await this.oracle.call({ name: 'report', server: this.id })) as ServerReport
  }

  /** Runs `code` inside the oracle, so `code` must use no variable of the test file. */
  // biome-ignore lint/suspicious/noExplicitAny: the class of the server is private to the oracle
  run<T>(code: (server: any) => T): Promise<T> {
    return this.oracle.call({ name: 'run', server: this.id, source: String(code) }) as Promise<T>
  }

  stop(): Promise<unknown> {
    return this.oracle.call({ name: 'stop', server: this.id })
  }
}

export interface HostSetup<Args> {
  settings?: Partial<AnalyticsSettings> & Record<string, unknown>
  host?: string
  args?: Args
  /** The speed of the SDK's clock, as a multiple of real time. Default: 1. */
  scale?: number
  env?: Record<string, string>
  execArgv?: string[]
  format?: 'esm' | 'cjs'
  /** The time limit of the process, in real time. After it, the process is killed and the row fails. */
  limitMs?: number
  /** Tracks without callbacks, so that nothing waits for the events. */
  forgets?: boolean
  onStart?: (child: ChildProcess) => void
}

export interface HostRun {
  /** Absent when the process died before it could write a report. */
  report: HostReport | undefined
  exitCode: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

const packageFile = (format: 'esm' | 'cjs'): string =>
  join(process.env['TRACKPOST_DIST'] ?? join(ROOT, 'dist'), format === 'cjs' ? 'index.cjs' : 'index.js')

let lastJob = 0

/** Runs `program` in its own process with the built package. `program` must use no variable of the test file. */
export async function runHost<Args = undefined>(
  setup: HostSetup<Args>,
  program: (tools: Tools<Args>) => unknown,
): Promise<HostRun> {
  const id = `${process.pid}-${++lastJob}`
  const run = randomBytes(4).toString('hex')
  const format = setup.format ?? 'esm'
  const job: Job = {
    program: String(program),
    args: setup.args,
    settings: {
      writeKey: CANARY_KEY,
      ...(setup.host === undefined ? {} : { host: setup.host }),
      ...setup.settings,
    },
    run,
    packageFile: packageFile(format),
    format,
    reportFile: scratchFile(`report-${id}.json`),
    canaries: CANARIES,
    forgets: setup.forgets ?? false,
  }
  const jobFile = scratchFile(`job-${id}.json`)
  writeFileSync(jobFile, JSON.stringify(job))
  const child = spawn(
    process.execPath,
    [
      '--unhandled-rejections=strict',
      '--import',
      scratchFile('clock.mjs'),
      ...(setup.execArgv ?? []),
      scratchFile('host.mjs'),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        FAULTS_JOB: jobFile,
        FAULTS_SCALE: String(setup.scale ?? 1),
        ...setup.env,
      },
    },
  )
  children.add(child)
  setup.onStart?.(child)
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  let isKilled = false
  const killer = setTimeout(() => {
    isKilled = true
    child.kill('SIGKILL')
  }, setup.limitMs ?? 100_000)
  const { exitCode, signal } = await new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>(
    (done) => child.on('close', (exitCode, signal) => done({ exitCode, signal })),
  )
  clearTimeout(killer)
  children.delete(child)
  let report: HostReport | undefined
  try {
    report = JSON.parse(readFileSync(job.reportFile, 'utf8')) as HostReport
  } catch {
    // A process that is killed by a signal writes no report.
  }
  rmSync(jobFile, { force: true })
  rmSync(job.reportFile, { force: true })
  const out = stdout + stderr + JSON.stringify(report)
  expect(
    CANARIES.filter((canary) => out.includes(canary)),
    'secrets in the output',
  ).toEqual([])
  expect(isKilled, `the host hung; stderr: ${stderr.slice(-2_000)}`).toBe(false)
  return { report, exitCode, signal, stdout, stderr }
}

export interface Allowances {
  exitCode?: number
  /** Failure codes that the row allows. Default: none. */
  failures?: string[]
  /** Codes of process warnings that the row allows. Default: none. */
  warnings?: string[]
  /** Events may be without an outcome at the end, because the process was ended. */
  pending?: boolean
  /** The program also tracks events that are not generated by `Tools.track`. The ledger does not contain them. */
  otherCalls?: boolean
  /** The program closed no client, so open sockets and timers are not checked. */
  unclosed?: boolean
  /**
   * The oracle may have acknowledged events that the client reports as failed, because the client gave up before the
   * response arrived.
   */
  lateAcknowledgements?: boolean
}

export function reportOf(run: HostRun): HostReport {
  if (run.report === undefined) {
    throw new Error(
      `the host wrote no report (exit ${run.exitCode} ${run.signal}): ${run.stderr.slice(-2_000)}`,
    )
  }
  return run.report
}

/** A timer of the SDK with at least this delay only keeps the process alive, and is left out. */
const HOLD_MS = 2_000_000_000

/** The delays of the SDK's timers, in the order in which they were set; with `fired`, in the order in which they fired. */
export function waitsOf(report: HostReport, which: 'set' | 'fired' = 'set'): number[] {
  const set = report.timers.filter(({ ms }) => ms < HOLD_MS)
  if (which === 'set') return set.map(({ ms }) => ms)
  return set
    .flatMap(({ ms, firedAs }) => (firedAs === undefined ? [] : { ms, firedAs }))
    .sort((one, other) => one.firedAs - other.firedAs)
    .map(({ ms }) => ms)
}

/** Waits between attempts. Timers of 40,000,000 ms and more are left out: they are the deadlines of whole batches. */
export const backoffsOf = (report: HostReport): number[] => waitsOf(report).filter((ms) => ms < 40_000_000)

/** Checks the rules of test/faults/README.md, section 1.0. */
export function expectOracleRules(run: HostRun, servers: ServerReport[], allow: Allowances = {}): HostReport {
  const report = reportOf(run)
  const stats = report.stats as Stats
  expect(report.thrown, 'the program threw').toBeUndefined()

  // Rules 1 and 2: nothing lost, spurious or corrupted; duplicates are byte-equal.
  for (const server of servers) expect(server.violations, 'violations of the protocol').toEqual([])
  const outcomes = Buffer.from(report.outcomes, 'base64')
  const ledgers = servers.map((server) => Buffer.from(server.ledger, 'base64'))
  const faults: string[] = []
  let delivered = 0
  const highest = Math.max(outcomes.length, ...ledgers.map((ledger) => ledger.length))
  for (let n = 0; n < highest; n++) {
    const seen = ledgers.some((ledger) => (ledger[n] ?? 0) >> 1 > 0)
    const acknowledged = ledgers.some((ledger) => ((ledger[n] ?? 0) & 1) === 1)
    const outcome = OUTCOMES[outcomes[n] ?? 0]
    if (outcome === 'delivered') {
      delivered++
      if (!acknowledged) faults.push(`event ${n} is reported delivered and was not acknowledged`)
    } else if (outcome === undefined) faults.push(`event ${n} has an outcome that is not on the list`)
    else if (outcome === 'none' && n < report.tracked && allow.pending !== true) {
      faults.push(`event ${n} is lost: ${seen ? 'seen, ' : ''}without an outcome`)
    } else if (n >= report.tracked && seen) faults.push(`event ${n} is spurious`)
    else if (acknowledged && outcome !== 'none' && allow.lateAcknowledgements !== true) {
      faults.push(`event ${n} was acknowledged and is reported ${outcome}`)
    }
  }
  expect(faults.slice(0, 10), `${faults.length} faults of the ledger`).toEqual([])

  // Rules 3 and 4: the counts are consistent, and each failure has a reason.
  expect(report.imbalances, 'accepted = delivered + failed + pending at every instant').toBe(0)
  expect(stats.accepted).toBe(stats.delivered + stats.failed + stats.pending)
  if (allow.otherCalls !== true) {
    expect(stats.accepted, 'accepted').toBe(report.tracked)
    expect(stats.delivered, 'delivered, in the stats and in the oracle').toBe(delivered)
    expect(report.errors, 'error events by reason').toEqual(stats.failures)
  }
  if (allow.pending !== true) expect(stats.pending, 'pending').toBe(0)
  expect(
    Object.keys(stats.failures).filter((code) => !(allow.failures ?? []).includes(code)),
    'reasons that the row does not allow',
  ).toEqual([])
  expect(report.repeatedOutcomes, 'outcomes reported twice').toBe(0)
  expect(report.prematureOutcomes, 'outcomes reported within the call').toBe(0)
  for (const close of report.closes) expect(close.withoutOutcome, 'events open when close resolved').toBe(0)

  expectHealthyHost(run, allow)
  return report
}

/** Checks rule 5 of test/faults/README.md, section 1.0, and that no secret leaks (section 3.1). */
export function expectHealthyHost(run: HostRun, allow: Allowances = {}): void {
  const report = reportOf(run)
  expect(report.uncaught, 'uncaught exceptions and unhandled rejections').toEqual([])
  // An outage is reported when it begins and when it ends: see docs/spec.md, section 8. Some rows set `flushAt`
  // above the size of the queue, or use plain http for a host other than localhost: the client warns of each.
  const doubtful = ['TRACKPOST_CONTRADICTION', 'TRACKPOST_INSECURE']
  const expected = ['TRACKPOST_OUTAGE', ...doubtful, ...(allow.warnings ?? [])]
  const unexpected = report.warnings.filter(({ code }) => !expected.includes(code))
  expect(unexpected, 'process warnings').toEqual([])
  expect(report.timerOverflows, 'timers beyond 2^31 - 1').toBe(0)
  expect(run.exitCode, `exit code; stderr: ${run.stderr.slice(-1_000)}`).toBe(allow.exitCode ?? 0)
  expect(
    report.addedListeners.filter((name) => name !== 'beforeExit' && name !== 'exit'),
    'listeners on process',
  ).toEqual([])
  expect(report.leaks, 'secrets').toEqual([])
  if (allow.unclosed === true) return
  expect(report.checkedResources, 'the program closed its clients').toBe(true)
  expect(report.leftResources, 'resources 1 s after close').toEqual([])
  expect(report.leftTimers, 'timers 1 s after close').toEqual([])
}
