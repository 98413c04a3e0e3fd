import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type HeldPort, holdPort } from '../../../test/support/held-port.ts'

const bin = fileURLToPath(new URL('../../bin/trackpost-cluster.js', import.meta.url))

/** A front or a worker in a process of its own, with the same port at every start. */
export class Process {
  readonly name: string
  readonly #args: readonly string[]
  readonly #held: HeldPort
  #child: ChildProcess | undefined
  #output = ''
  /** Whether it is suspended. */
  isPaused = false
  /** How often it was suspended. */
  pauses = 0
  /** What a process said that ended by itself. */
  readonly crashes: string[] = []

  static async start(name: string, args: readonly string[]): Promise<Process> {
    const one = new Process(name, args, await holdPort())
    onTestFinished(() => one.close())
    await one.start()
    return one
  }

  private constructor(name: string, args: readonly string[], held: HeldPort) {
    this.name = name
    this.#args = args
    this.#held = held
  }

  get url(): string {
    return `http://127.0.0.1:${this.#held.port}`
  }

  get output(): string {
    return this.#output
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [bin, ...this.#args, '--port', String(this.#held.port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    this.#output = ''
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.crashes.push(`${this.name} (${code ?? signal}): ${this.#output}`)
    })
    await new Promise<void>((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        this.#output = `${this.#output}${text}`.slice(-20_000)
        if (this.#output.includes('listens on')) resolve()
      })
      child.once('exit', () => reject(new Error(`${this.name} has ended: ${this.#output}`)))
    })
  }

  /** Resolves with the exit code; null after SIGKILL. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code] = await exited
    return code
  }

  pause(): void {
    this.isPaused = true
    this.pauses++
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
    this.isPaused = false
  }

  /** A metric of `/metrics` by its name and labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`, { signal: AbortSignal.timeout(5000) })).text()
    const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
    return Number(line?.split(' ').at(-1))
  }

  async isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(5000) })).status === 200
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    this.resume()
    await this.end('SIGKILL')
    this.#held.release()
  }
}
