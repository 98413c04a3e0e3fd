import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { environment } from '../../../collector/test/ops/process.ts'

const launcher = fileURLToPath(new URL('../../../collector/bin/trackpost-collector.js', import.meta.url))
const AGAIN_MS = 100

/** A collector in a separate process, which is restarted whenever it ends. */
export class Supervised {
  readonly name: string
  /** The output of each process that ended unexpectedly after it had started to listen. */
  readonly crashes: string[] = []
  /** The end of the output of the newest process. */
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
    // The previous process may still use the port while it ends.
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

  /** Ends the process without a restart. SIGKILL simulates a crash, and SIGTERM an upgrade. */
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
