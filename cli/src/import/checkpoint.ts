import type { CommandError } from '../errors.ts'
import type { Position } from './record.ts'
import type { Rejects } from './rejects.ts'
import { type State, writeState } from './state.ts'

/** The part of the state that changes while an import runs. */
export interface Standing {
  readonly frontier: Position
  readonly delivered: number
  readonly refused: number
}

/** The part that stays as it is. */
export type Setting = Pick<State, 'version' | 'format' | 'fingerprint' | 'target'>

/** The part of it that is written. */
type Progress = Omit<State, keyof Setting | 'rejects'>

const INTERVAL_MS = 1_000
const MAX_WAITING_BYTES = 1_048_576

/**
 * Writes down how far an import has come: first the refused lines, then the state that is past them. One write at a time.
 *
 * Written once a second. What is sent again after a crash is the rest, with the same messageIds.
 */
export class Checkpoint {
  readonly #path: string | undefined
  readonly #rejects: Rejects
  readonly #setting: Setting
  readonly #read: () => Standing
  readonly #onProblem: (problem: CommandError) => void
  #saving: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #hasFailed = false
  #last: Progress | undefined

  /** @param path `undefined` where there is nothing to go on from: refused lines are written all the same. */
  constructor(
    path: string | undefined,
    rejects: Rejects,
    setting: Setting,
    read: () => Standing,
    onProblem: (problem: CommandError) => void,
  ) {
    this.#path = path
    this.#rejects = rejects
    this.#setting = setting
    this.#read = read
    this.#onProblem = onProblem
  }

  /** Whether the last word could not be written. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Writes the first state, before anything is sent, and goes on once a second. @throws CommandError */
  async start(): Promise<void> {
    await this.#write(false)
    const tick = (): void => {
      this.#timer = setTimeout(() => void this.save().then(tick), INTERVAL_MS)
      this.#timer.unref()
    }
    tick()
  }

  /** Saves now; what fails is told to the importer, once. */
  save(isDone = false): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (this.#hasFailed) return
      try {
        await this.#write(isDone)
      } catch (error) {
        this.#hasFailed = true
        this.#onProblem(error as CommandError)
      }
    })
    return this.#saving
  }

  /** A file of which every line is refused must not pile up in memory. */
  async saveWhenLarge(): Promise<void> {
    if (this.#rejects.waitingBytes > MAX_WAITING_BYTES) await this.save()
  }

  /** The last save. */
  async finish(isDone: boolean): Promise<void> {
    clearTimeout(this.#timer)
    await this.save(isDone)
    await this.#rejects.close().catch(() => {})
  }

  async #write(isDone: boolean): Promise<void> {
    // Read before the refused lines are written: those that come meanwhile lie behind it.
    const { frontier, delivered, refused } = this.#read()
    // A file that no state knows of would stay beside a second one with the same lines.
    if (this.#rejects.isBeginning && this.#last !== undefined) await this.#save(this.#last)
    await this.#rejects.flush()
    await this.#save({ ...frontier, isDone, delivered, refused })
  }

  async #save(progress: Progress): Promise<void> {
    this.#last = progress
    if (this.#path === undefined) return
    await writeState(this.#path, { ...this.#setting, ...progress, rejects: this.#rejects.mark ?? null })
  }
}
