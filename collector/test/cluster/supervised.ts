import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { environment } from '../ops/process.ts'

const launcher = fileURLToPath(new URL('../../bin/trackpost-collector.js', import.meta.url))
const AGAIN_MS = 100

/** A collector as a process of its own, started again whenever it ends, as a supervisor does. */
export class Supervised {
  readonly name: string
  /** Its output when it ended unexpectedly, after it had listened. */
  readonly crashes: string[] = []
  /** The end of what the newest process has written. */
  said = ''
  readonly #args: readonly string[]
  readonly #folder: string
  #child: ChildProcess | undefined
  #isWanted = false
  #isListening = false
  #ended = Promise.resolve()

  constructor(name: string, folder: string, args: readonly string[]) {
    this.name = name
    this.#folder = folder
    this.#args = args
  }

  get isListening(): boolean {
    return this.#isListening
  }

  start(): void {
    if (this.#isWanted) return
    this.#isWanted = true
    // The one before may still be ending, on the same port.
    this.#ended = this.#ended.then(() => this.#run())
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      await this.#runOnce()
      if (this.#isWanted) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }

  #runOnce(): Promise<void> {
    const child = spawn(process.execPath, [launcher, ...this.#args], {
      cwd: this.#folder,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.said = ''
    let wasListening = false
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.said = `${this.said}${text}`.slice(-2000)
        if (!wasListening && this.said.includes('listens on')) {
          wasListening = true
          this.#isListening = true
        }
      })
    }
    return new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#isListening = false
        if (this.#isWanted && wasListening)
          this.crashes.push(`${this.name} ended (${code ?? signal}): ${this.said}`)
        resolve()
      })
    })
  }

  /** Ends it, and keeps it so. SIGKILL: at once; SIGTERM: as an upgrade does. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#isWanted = false
    this.#child?.kill(signal)
    await this.#ended
  }

  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }
}
