import { computed, effect } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { getJson, type RequestError } from './http.ts'
import { isPaused, latest } from './live.ts'

export interface Query<T> {
  /** After an error, the last data before the error. */
  data: T | undefined
  error: RequestError | undefined
  /** Whether `data` belongs to an earlier query, or could not be updated. */
  isStale: boolean
  reload(): void
}

interface State<T> {
  path: string | undefined
  data: T | undefined
  error: RequestError | undefined
}

const REFRESH_MS = 1000
const RETRY_MS = 2000

/** A value that changes when anything was recorded, delivered or deleted. */
const liveMark = computed(() => {
  const message = latest.value
  if (message === undefined) return ''
  const { epoch, head, process, revision } = message
  return `${epoch} ${head} ${process} ${revision}`
})

/**
 * Requests `path` at once, and again `refreshMs` after a change.
 *
 * @returns A function that stops the requests, and ignores a pending response.
 */
function follow<T>(path: string, refreshMs: number, tell: (outcome: T | RequestError) => void): () => void {
  const gone = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsking = false
  let askedMark: string | undefined
  let didFail = false

  const askNow = async () => {
    timer = undefined
    isAsking = true
    askedMark = liveMark.peek()
    try {
      tell(await getJson<T>(path, gone.signal))
      didFail = false
    } catch (cause) {
      didFail = true
      if (!gone.signal.aborted) tell(cause as RequestError)
    }
    isAsking = false
    schedule()
  }
  const schedule = () => {
    if (isAsking || timer !== undefined || gone.signal.aborted) return
    if (didFail) timer = setTimeout(() => void askNow(), RETRY_MS)
    else if (!isPaused.peek() && liveMark.peek() !== askedMark)
      timer = setTimeout(() => void askNow(), refreshMs)
  }
  void askNow()
  const stop = effect(() => {
    // Read only so that the effect runs when these signals change.
    void liveMark.value
    void isPaused.value
    schedule()
  })
  return () => {
    stop()
    clearTimeout(timer)
    gone.abort()
  }
}

/** When `path` changes, the response to the old path is ignored. */
export function useQuery<T>(path: string | undefined, refreshMs = REFRESH_MS): Query<T> {
  const [state, setState] = useState<State<T>>({ path: undefined, data: undefined, error: undefined })
  const [round, setRound] = useState(0)

  useEffect(() => {
    if (path === undefined) return
    return follow<T>(path, refreshMs, (outcome) => {
      if (outcome instanceof Error) setState((old) => ({ ...old, error: outcome }))
      else setState({ path, data: outcome, error: undefined })
    })
  }, [path, refreshMs, round])

  return {
    data: state.data,
    error: state.error,
    isStale: state.path !== path || state.error !== undefined,
    reload: () => setRound((value) => value + 1),
  }
}
