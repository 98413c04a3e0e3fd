import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished, test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'
import { type HeldPort, holdPort } from '../../../test/support/held-port.ts'
import { isTooOld } from '../../src/stream/version.ts'
import { findProgram } from './find-program.ts'

const found =
  TIER === 'default' ? undefined : findProgram('nats-server', 'NATS_SERVER', ['/usr/local/sbin', '/usr/sbin'])

export const natsProgram = found === undefined || isTooOld(versionOf(found)) ? undefined : found

/** `test`, or `test.skip` without a nats-server that is new enough, so that the tests count as skipped. */
export const natsTest = natsProgram === undefined ? test.skip : test

/** A real nats-server with its own port and folder. */
export class NatsServer {
  readonly url: string
  readonly port: number
  /** The folder of its streams. */
  readonly folder = mkdtempSync(join(tmpdir(), 'trackpost-nats-'))
  readonly #held: HeldPort
  readonly #args: readonly string[]
  #process: ChildProcess | undefined

  constructor(held: HeldPort, args: readonly string[]) {
    this.#held = held
    this.port = held.port
    this.url = `nats://127.0.0.1:${held.port}`
    this.#args = args
  }

  async start(): Promise<void> {
    const fixed = ['-a', '127.0.0.1', '-p', String(this.port), '-js', '-sd', this.folder]
    const child = spawn(natsProgram as string, [...fixed, ...this.#args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process = child
    let log = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        if (log.length < 100_000) log += text
        if (log.includes('Server is ready')) resolve()
      })
      child.once('exit', () => reject(new Error(`nats-server has ended:\n${log}`)))
    })
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Ends the server as an upgrade does. */
  terminate(): Promise<void> {
    return this.#end('SIGTERM')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  /** Stops the process: connections stay open, but get no response. */
  async pause(): Promise<void> {
    this.#process?.kill('SIGSTOP')
    // When the call returns, the signal may not have arrived yet, and the server may still do something.
    const state = () =>
      execFileSync('ps', ['-o', 'state=', '-p', String(this.#process?.pid)], { encoding: 'utf8' })
    while (!state().startsWith('T')) await nextTurn()
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await this.kill()
    this.#held.release()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export async function startNats(...args: string[]): Promise<NatsServer> {
  const server = new NatsServer(await holdPort(), args)
  onTestFinished(() => server.close())
  await server.start()
  return server
}

/** `size` servers named n1, n2, ..., which know the addresses of each other. */
export async function startNatsCluster(size: number): Promise<NatsServer[]> {
  const held = await Promise.all(Array.from({ length: size }, () => holdPort()))
  onTestFinished(() => {
    for (const one of held) one.release()
  })
  const routes = held.map(({ port }) => `nats://127.0.0.1:${port}`)
  const start = (route: string, index: number) =>
    startNats(
      ...['-n', `n${index + 1}`, '--cluster_name', 'three', '--cluster', route, '--routes', routes.join()],
    )
  return Promise.all(routes.map(start))
}

function versionOf(program: string): string {
  return /v([\d.]+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1] ?? ''
}
