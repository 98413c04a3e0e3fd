import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished, test } from 'vitest'

/** The program; undefined where there is none. A NATS_SERVER that is wrong is no reason to take another. */
function findNats(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const given = env['NATS_SERVER']
  const folders = [...(env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
  const candidates = given ? [given] : folders.map((folder) => join(folder, 'nats-server'))
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const program = findNats()

/** `test`, or `test.skip` where there is no nats-server: the count of skipped tests then says so. */
export const natsTest = program === undefined ? test.skip : test

/** A real nats-server with JetStream, on a port and a folder of its own. */
export class NatsServer {
  readonly url: string
  readonly port: number
  /** Where it keeps its streams. */
  readonly folder = mkdtempSync(join(tmpdir(), 'trackpost-nats-'))
  readonly #args: readonly string[]
  readonly #jetStream: readonly string[]
  #process: ChildProcess | undefined

  constructor(port: number, args: readonly string[], hasJetStream = true) {
    this.port = port
    this.#jetStream = hasJetStream ? ['-js', '-sd', this.folder] : []
    this.url = `nats://127.0.0.1:${port}`
    this.#args = args
  }

  async start(): Promise<void> {
    const fixed = ['-a', '127.0.0.1', '-p', String(this.port), ...this.#jetStream]
    const child = spawn(program as string, [...fixed, ...this.#args], { stdio: ['ignore', 'ignore', 'pipe'] })
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

  /** At once, with whatever it was doing. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** As an upgrade ends it. */
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

  /** Holds it: connections stay open, and nothing is answered. */
  async pause(): Promise<void> {
    this.#process?.kill('SIGSTOP')
    // The signal is on its way when the call returns, and the server may still do something.
    const state = () =>
      execFileSync('ps', ['-o', 'state=', '-p', String(this.#process?.pid)], { encoding: 'utf8' })
    while (!state().startsWith('T')) await nextTurn()
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a server that ends with the test. */
export async function startNats(...args: string[]): Promise<NatsServer> {
  const server = new NatsServer(await freePort(), args)
  onTestFinished(() => server.close())
  await server.start()
  return server
}

/** The same without JetStream. */
export async function startBareNats(): Promise<NatsServer> {
  const server = new NatsServer(await freePort(), [], false)
  onTestFinished(() => server.close())
  await server.start()
  return server
}
