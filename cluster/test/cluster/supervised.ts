import { type Started, startUnowned } from '../../../collector/test/support/process.ts'

const AGAIN_MS = 100

/** A collector in a separate process, which is restarted whenever it ends. */
export class Supervised {
  readonly name: string
  /** The output of each process that ended unexpectedly after it had started to listen. */
  readonly crashes: string[] = []
  readonly #args: readonly string[]
  readonly #folder: string
  #process: Started | undefined
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

  /** The end of the output of the newest process. */
  get said(): string {
    const { lines = [], stderr = () => '' } = this.#process ?? {}
    return `${JSON.stringify(lines.slice(-20))} ${stderr()}`.slice(-2000)
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

  async #runOnce(): Promise<void> {
    this.#process = startUnowned(this.#args, {}, this.#folder)
    this.#process.listens.then(
      () => {
        this.#isListening = true
      },
      () => {},
    )
    const [code, signal] = await this.#process.ended
    if (this.#isWanted && this.#isListening)
      this.crashes.push(`${this.name} ended (${code ?? signal}): ${this.said}`)
    this.#isListening = false
  }

  /** Ends the process without a restart. SIGKILL simulates a crash, and SIGTERM an upgrade. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#isWanted = false
    this.#process?.child.kill(signal)
    await this.#ended
  }

  pause(): void {
    this.#process?.child.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.child.kill('SIGCONT')
  }
}
