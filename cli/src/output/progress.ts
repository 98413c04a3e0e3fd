import { SingleBar } from 'cli-progress'
import { counted, duration } from './text.ts'

/** How far a long command is. */
export interface Progress {
  readonly done: number
  readonly failed: number
  /** Share of the input that was read, 0 to 1; `undefined` when its size is not known. */
  readonly share: number | undefined
  /** Why nothing goes on at the moment. */
  readonly paused: string | undefined
}

/** Says on stderr how far a command is: a bar on a terminal, now and then a line elsewhere. */
export interface ProgressDisplay {
  /** Prints a line; the bar stays below. */
  log(line: string): void
  stop(): void
}

const PLAIN_INTERVAL_MS = 10_000
const BAR_FPS = 5
const BAR_SIZE = 24
/** The rate is that of the last seconds: it is what the time left depends on. */
const RATE_WINDOW_MS = 10_000

/** @param read Asked for the figures each time they are shown. */
export function showProgress(read: () => Progress, stream: NodeJS.WriteStream): ProgressDisplay {
  const meter = new RateMeter(() => performance.now())
  const line = (): string => describe(read(), meter)
  if (!stream.isTTY) {
    const timer = setInterval(() => stream.write(`${line()}\n`), PLAIN_INTERVAL_MS)
    timer.unref()
    return { log: (text) => void stream.write(`${text}\n`), stop: () => clearInterval(timer) }
  }
  const bar = new SingleBar({
    stream,
    fps: BAR_FPS,
    hideCursor: true,
    clearOnComplete: true,
    format: () => {
      const { share } = read()
      if (share === undefined) return line()
      const filled = Math.round(share * BAR_SIZE)
      return `${'█'.repeat(filled)}${'░'.repeat(BAR_SIZE - filled)} ${line()}`
    },
  })
  bar.start(1, 0)
  return {
    // The bar ends where the cursor was saved: below this line from now on.
    log: (text) => void stream.write(`\r\u001b[K${text}\n\u001b7`),
    stop: () => bar.stop(),
  }
}

function describe({ done, failed, share, paused }: Progress, meter: RateMeter): string {
  const rate = meter.measure(done, share)
  const parts = [counted(done, 'line'), `${Math.round(rate.lines).toLocaleString('en-US')}/s`]
  if (share !== undefined) {
    parts.unshift(`${Math.floor(share * 100)} %`)
    if (rate.share > 0 && share < 1) parts.push(`${duration(((1 - share) / rate.share) * 1_000)} left`)
  }
  parts.push(`${failed.toLocaleString('en-US')} failed`)
  if (paused !== undefined) parts.push(paused)
  return parts.join(', ')
}

class RateMeter {
  readonly #now: () => number
  #samples: { atMs: number; done: number; share: number }[] = []

  constructor(now: () => number) {
    this.#now = now
    this.#samples.push({ atMs: now(), done: 0, share: 0 })
  }

  /** Per second. */
  measure(done: number, share = 0): { lines: number; share: number } {
    const atMs = this.#now()
    this.#samples.push({ atMs, done, share })
    while (this.#samples.length > 2 && atMs - (this.#samples[0]?.atMs ?? 0) > RATE_WINDOW_MS)
      this.#samples.shift()
    const [first] = this.#samples
    const seconds = (atMs - (first?.atMs ?? atMs)) / 1_000
    if (first === undefined || seconds === 0) return { lines: 0, share: 0 }
    return { lines: (done - first.done) / seconds, share: (share - first.share) / seconds }
  }
}
