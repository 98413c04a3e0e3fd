import { counted, duration, type Output } from './text.ts'

export interface Progress {
  readonly done: number
  readonly failed: number
  /** The part of the input that has been read, from 0 to 1; `undefined` if the size of the input is not known. */
  readonly share: number | undefined
  /** Why the command makes no progress now. */
  readonly paused: string | undefined
}

/** Shows progress on stderr: as a bar on a terminal, otherwise as a line every 10 seconds. */
export interface ProgressDisplay {
  /** Prints a line above the bar. */
  log(line: string): void
  stop(): void
}

const PLAIN_INTERVAL_MS = 10_000
const BAR_FPS = 5
const BAR_SIZE = 24
/** On a narrower terminal, the numbers need the room of the bar. */
const BAR_MIN_COLUMNS = 80
/** The time left is estimated from the rate over this period. */
const RATE_WINDOW_MS = 10_000
/** The time left is not shown earlier: the first connection is slow, so the first estimates would be far too long. */
const SETTLING_MS = 3_000

const CLEAR = '\r\u001b[K'

export function showProgress(read: () => Progress, stream: Output): ProgressDisplay {
  const describe = createDescription(() => performance.now())
  if (!stream.isTTY) {
    const timer = setInterval(() => stream.write(`${describe(read())}\n`), PLAIN_INTERVAL_MS)
    timer.unref()
    return { log: (text) => void stream.write(`${text}\n`), stop: () => clearInterval(timer) }
  }
  const draw = (): void => {
    const progress = read()
    // Some terminals report 0 columns.
    const columns = stream.columns || 80
    const share = columns < BAR_MIN_COLUMNS ? undefined : progress.share
    const filled = Math.round((share ?? 0) * BAR_SIZE)
    const bar = share === undefined ? '' : `${'█'.repeat(filled)}${'░'.repeat(BAR_SIZE - filled)} `
    // A wrapped line could not be cleared.
    const text = `${bar}${describe(progress)}`.slice(0, columns - 1)
    stream.write(`${CLEAR}${text}`)
  }
  const timer = setInterval(draw, 1_000 / BAR_FPS)
  timer.unref()
  draw()
  return {
    log(text) {
      stream.write(`${CLEAR}${text}\n`)
      draw()
    },
    stop() {
      clearInterval(timer)
      stream.write(CLEAR)
    },
  }
}

/** @param now Returns a time in milliseconds. */
export function createDescription(now: () => number): (progress: Progress) => string {
  const meter = new RateMeter(now)
  return ({ done, failed, share, paused }) => {
    const rate = meter.measure(done, share)
    // What matters most comes first, because a narrow terminal cuts the end off.
    const parts = [counted(done, 'line'), `${failed.toLocaleString('en-US')} failed`]
    if (share !== undefined) parts.unshift(`${Math.floor(share * 100)} %`)
    // While the command waits, its rate says nothing of the time left.
    parts.push(paused ?? `${Math.round(rate.lines).toLocaleString('en-US')}/s`)
    if (paused === undefined && share !== undefined && rate.isSettled && rate.share > 0 && share < 1)
      parts.push(`${duration(((1 - share) / rate.share) * 1_000)} left`)
    return parts.join(', ')
  }
}

class RateMeter {
  readonly #now: () => number
  readonly #startedAtMs: number
  #samples: { atMs: number; done: number; share: number }[] = []

  constructor(now: () => number) {
    this.#now = now
    this.#startedAtMs = now()
    this.#samples.push({ atMs: this.#startedAtMs, done: 0, share: 0 })
  }

  /** Returns rates per second. */
  measure(done: number, share = 0): { lines: number; share: number; isSettled: boolean } {
    const atMs = this.#now()
    const isSettled = atMs - this.#startedAtMs >= SETTLING_MS
    this.#samples.push({ atMs, done, share })
    while (this.#samples.length > 2 && atMs - (this.#samples[0]?.atMs ?? 0) > RATE_WINDOW_MS)
      this.#samples.shift()
    const [first] = this.#samples
    const seconds = (atMs - (first?.atMs ?? atMs)) / 1_000
    if (first === undefined || seconds === 0) return { lines: 0, share: 0, isSettled }
    return { lines: (done - first.done) / seconds, share: (share - first.share) / seconds, isSettled }
  }
}
