import { computed, signal } from '@preact/signals'
import { dayKey } from './format.ts'
import { access, ask } from './http.ts'
import type { StreamMessage } from './types.ts'

/**
 * The state of the connection to the collector.
 *
 * - `connecting`: there has been no message yet
 * - `live`: there has been a message within the last three seconds
 * - `unavailable`: the collector responds, but its store is unavailable, so the screen may be outdated
 * - `silent`: the connection is open, but no messages arrive; the collector may hang
 * - `lost`: there is no connection; the page tries again by itself
 */
export type Connection = 'connecting' | 'live' | 'unavailable' | 'silent' | 'lost'

const SILENT_AFTER_MS = 3000
const CHECK_EVERY_MS = 500
const RETRY_MS = 2000

/** All events that are stored. */
export function totalOf({ accepted, rejected, repeated }: StreamMessage['stats']): number {
  return accepted + rejected + repeated
}

export const latest = signal<StreamMessage | undefined>(undefined)

/** While this is true, nothing on the screen moves, and new items are only counted. */
export const isPaused = signal(false)

const isOpen = signal(false)
const heardAtMs = signal(0)
/** The time of the computer's clock, updated twice a second while the tab is visible. */
export const clockMs = signal(Date.now())
/** When this tab began to listen. For the first three seconds, the state is `connecting` and not `lost`. */
const startedAtMs = signal(Date.now())

export const connection = computed<Connection>(() => {
  const quietMs = clockMs.value - heardAtMs.value
  if (isOpen.value && quietMs > SILENT_AFTER_MS) return 'silent'
  if (isOpen.value) return typeof latest.value?.storeUnavailable === 'string' ? 'unavailable' : 'live'
  if (heardAtMs.value === 0 && clockMs.value - startedAtMs.value < SILENT_AFTER_MS) return 'connecting'
  return 'lost'
})

/** Whole seconds since the last message from the collector. */
export const quietSeconds = computed(() => Math.max(0, Math.floor((clockMs.value - heardAtMs.value) / 1000)))

/** When the collector was last heard; undefined = not yet. In ISO 8601. */
export const heardAt = computed(() =>
  heardAtMs.value === 0 ? undefined : new Date(heardAtMs.value).toISOString(),
)

export const today = computed(() => dayKey(new Date(clockMs.value).toISOString()))

let stream: EventSource | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let ticks: ReturnType<typeof setInterval> | undefined

function hear(message: StreamMessage): void {
  isOpen.value = true
  heardAtMs.value = Date.now()
  clockMs.value = Date.now()
  latest.value = message
  // A message proves that the user has access, perhaps after a login in another tab.
  access.value = 'open'
}

function open(): void {
  if (ticks === undefined) {
    startedAtMs.value = Date.now()
    clockMs.value = Date.now()
    ticks = setInterval(() => {
      clockMs.value = Date.now()
    }, CHECK_EVERY_MS)
  }
  clearTimeout(retry)
  stream?.close()
  stream = new EventSource('api/stream')
  stream.onmessage = ({ data }) => hear(JSON.parse(data))
  stream.onerror = () => {
    isOpen.value = false
    if (stream?.readyState !== EventSource.CLOSED) return
    // After a refusal (too many pages are open, or the user is not logged in), the browser does not reconnect by itself.
    retry = setTimeout(open, RETRY_MS)
    // A stream does not tell why it was refused. This request does, and shows the login form if the user is not logged in.
    ask('api/about').catch(() => {})
  }
}

function close(): void {
  clearInterval(ticks)
  clearTimeout(retry)
  stream?.close()
  ticks = undefined
  stream = undefined
}

/**
 * Opens the stream while the tab is visible. A browser has at most six connections to one address, so hidden tabs must not hold
 * them.
 */
export function listen(): void {
  const follow = () => (document.visibilityState === 'visible' ? open() : close())
  document.addEventListener('visibilitychange', follow)
  addEventListener('pagehide', close)
  addEventListener('pageshow', ({ persisted }) => persisted && follow())
  follow()
}
