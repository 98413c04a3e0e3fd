import type { CommandError } from '../errors.ts'
import type { Rejects } from './rejects.ts'
import { type State, writeState } from './state.ts'

/** The part of the state that does not change during an import. */
export type Setting = Pick<State, 'version' | 'format' | 'fingerprint' | 'target'>

/** The part that changes. */
type Progress = Omit<State, keyof Setting | 'rejects'>
type Standing = Omit<Progress, 'isDone'>

const INTERVAL_MS = 1_000
const MAX_WAITING_BYTES = 1_048_576

/**
 * Saves the progress once a second: first the refused lines, then the state file. Writes do not overlap. After a crash, the
 * next import sends the lines since the last save again, with the same messageIds.
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
  #isFinished = false
  #last: Progress | undefined

  /** @param path The state file; `undefined` if the import cannot be resumed. Refused lines are written in either case. */
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

  /** Saves before anything is sent, and then once a second. @throws CommandError when the first save fails. */
  async start(): Promise<void> {
    await this.#write(false)
    const tick = (): void => {
      // A save that was under way at the end must not be followed by another one, which would say that the import goes on.
      if (this.#isFinished) return
      this.#timer = setTimeout(() => void this.save().then(tick), INTERVAL_MS)
      this.#timer.unref()
    }
    tick()
  }

  /** Reports the first failure to `onProblem`, and does not save again after it. */
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

  async saveWhenLarge(): Promise<void> {
    if (this.#rejects.waitingBytes > MAX_WAITING_BYTES) await this.save()
  }

  async finish(isDone: boolean): Promise<void> {
    this.#isFinished = true
    clearTimeout(this.#timer)
    await this.save(isDone)
    await this.#rejects.close().catch(() => {})
  }

  async #write(isDone: boolean): Promise<void> {
    // Saves the name of a new rejects file before the file is created. After a crash, the next import then continues that file.
    // Without the name, it would write the same lines to a second file.
    if (this.#rejects.isBeginning && this.#last !== undefined) await this.#save(this.#last)
    // No `await` between this line and `flush`: the position and the refused lines must be from the same moment.
    const standing = this.#read()
    await this.#rejects.flush()
    await this.#save({ ...standing, isDone })
  }

  async #save(progress: Progress): Promise<void> {
    this.#last = progress
    if (this.#path === undefined) return
    await writeState(this.#path, { ...this.#setting, ...progress, rejects: this.#rejects.mark ?? null })
  }
}
