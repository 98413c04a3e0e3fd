import type { CommandError } from '../errors.ts'
import type { Position } from './record.ts'
import type { Rejects } from './rejects.ts'
import { type State, writeState } from './state.ts'

/** The part of the state that changes during an import. */
export interface Standing {
  readonly frontier: Position
  readonly delivered: number
  readonly refused: number
}

/** The part of the state that does not change. */
export type Setting = Pick<State, 'version' | 'format' | 'fingerprint' | 'target'>

/** The changing part, as it is written. */
type Progress = Omit<State, keyof Setting | 'rejects'>

const INTERVAL_MS = 1_000
const MAX_WAITING_BYTES = 1_048_576

/**
 * Saves how far an import has come: first the refused lines, then the state after them. One write at a time.
 *
 * Saves once a second. After a crash, the lines since the last save are sent again, with the same messageIds.
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

  /** @param path `undefined` if the import cannot be resumed; refused lines are written nevertheless. */
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

  /** Whether the last save failed. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Saves the first state, before anything is sent, and then once a second. @throws CommandError */
  async start(): Promise<void> {
    await this.#write(false)
    const tick = (): void => {
      this.#timer = setTimeout(() => void this.save().then(tick), INTERVAL_MS)
      this.#timer.unref()
    }
    tick()
  }

  /** Saves now. Reports a failure to the importer, once. */
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

  /** Saves early if many refused lines are in memory: all lines of a file may be refused. */
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
    // Saves the name of a new rejects file first. Otherwise a crash would leave a file that no state names, and the next import
    // would write the same lines to another file.
    if (this.#rejects.isBeginning && this.#last !== undefined) await this.#save(this.#last)
    // Read in the same turn in which `flush` takes the refused lines, so that both belong to the same position in the file.
    const { frontier, delivered, refused } = this.#read()
    await this.#rejects.flush()
    await this.#save({ ...frontier, isDone, delivered, refused })
  }

  async #save(progress: Progress): Promise<void> {
    this.#last = progress
    if (this.#path === undefined) return
    await writeState(this.#path, { ...this.#setting, ...progress, rejects: this.#rejects.mark ?? null })
  }
}
