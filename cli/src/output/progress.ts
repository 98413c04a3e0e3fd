import { counted, type Output } from './text.ts'

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

const CLEAR = '\r\u001b[K'

export function showProgress(read: () => Progress, stream: Output): ProgressDisplay {
  const describe = createDescription()
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

function createDescription(): (progress: Progress) => string {
  const startMs = performance.now()
  return ({ done, failed, share, paused }) => {
    const perSecond = Math.round((done / Math.max(1, performance.now() - startMs)) * 1_000)
    // What matters most comes first, because a narrow terminal cuts the end off.
    return [
      ...(share === undefined ? [] : [`${Math.floor(share * 100)} %`]),
      ...[counted(done, 'line'), `${failed.toLocaleString('en-US')} failed`],
      paused ?? `${perSecond.toLocaleString('en-US')}/s`,
    ].join(', ')
  }
}
