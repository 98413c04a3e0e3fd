import { counted } from './text.ts'

export interface Progress {
  readonly done: number
  readonly failed: number
  /** The part of the input that has been read, from 0 to 1; `undefined` if the size of the input is not known. */
  readonly share: number | undefined
  /** Why the command makes no progress now. */
  readonly paused: string | undefined
}

const INTERVAL_MS = 5_000

/** Logs the progress every five seconds. Returns a function that ends this. */
export function showProgress(read: () => Progress, log: (line: string) => void): () => void {
  const startMs = performance.now()
  const timer = setInterval(() => {
    const { done, failed, share, paused } = read()
    const perSecond = Math.round((done / (performance.now() - startMs)) * 1_000)
    const parts = [counted(done, 'line'), `${failed.toLocaleString('en-US')} failed`]
    if (share !== undefined) parts.unshift(`${Math.floor(share * 100)} %`)
    log([...parts, paused ?? `${perSecond.toLocaleString('en-US')}/s`].join(', '))
  }, INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}
