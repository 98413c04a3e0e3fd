import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { findPackages } from '../../../scripts/fetch-packages.mjs'
import { TIER } from '../../../scripts/tiers.mjs'

const packages = findPackages('cluster/test/clickhouse')
/** The native library is optional, since there is none for some platforms. */
const library = packages && join(packages, 'node_modules/@chdb/lib-linux-x64-gnu')
const chdb =
  TIER !== 'default' && library && existsSync(library)
    ? join(packages, 'node_modules/chdb/index.js')
    : undefined
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

  /** The address for `--to`. */
  get address(): string {
    return `clickhouse://default:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}`
  }

  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  /** Stops the process: connections stay open, but get no response. */
  pause(): void {
    this.#process?.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await this.kill()
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
