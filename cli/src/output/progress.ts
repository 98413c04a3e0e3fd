import { counted, duration, type Output } from './text.ts'

export interface Progress {
  readonly done: number
  readonly failed: number
  /** The part of the input that has been read, from 0 to 1; `undefined` if the size of the input is not known. */
  readonly share: number | undefined
  /** Why the command makes no progress now. */
  readonly paused: string | undefined
}

/** Shows progress on stderr: as the last line of a terminal, otherwise as a line every 10 seconds. */
export interface ProgressDisplay {
  /** Prints a line above the progress. */
  log(line: string): void
  stop(): void
}

const PLAIN_INTERVAL_MS = 10_000
const DRAWS_PER_SECOND = 5
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
    // Some terminals report 0 columns. A wrapped line could not be cleared.
    const text = describe(read()).slice(0, (stream.columns || 80) - 1)
    stream.write(`${CLEAR}${text}`)
  }
  const timer = setInterval(draw, 1_000 / DRAWS_PER_SECOND)
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
  const startMs = now()
  /** An import that continues begins in the middle of the file. */
  let startShare: number | undefined
  return ({ done, failed, share, paused }) => {
    const elapsedMs = now() - startMs
    const perSecond = elapsedMs === 0 ? 0 : Math.round((done / elapsedMs) * 1_000)
    // What matters most comes first, because a narrow terminal cuts the end off.
    const parts = [counted(done, 'line'), `${failed.toLocaleString('en-US')} failed`]
    if (share !== undefined) parts.unshift(`${Math.floor(share * 100)} %`)
    // While the command waits, its rate says nothing of the time left.
    parts.push(paused ?? `${perSecond.toLocaleString('en-US')}/s`)
    startShare ??= share
    const passed = (share ?? 0) - (startShare ?? 0)
    if (paused === undefined && share !== undefined && elapsedMs >= SETTLING_MS && passed > 0 && share < 1)
      parts.push(`${duration((elapsedMs * (1 - share)) / passed)} left`)
    return parts.join(', ')
  }
}
