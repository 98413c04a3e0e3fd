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

/** A message from one browser tab to the other tabs. */
type Relay =
  | { kind: 'message'; message: StreamMessage }
  | { kind: 'state'; isOpen: boolean; heardAtMs: number }
  | { kind: 'leader' }

const SILENT_AFTER_MS = 3000
const CHECK_EVERY_MS = 500
/**
 * The leader is the tab that has the stream. It sends a report to the other tabs every 500 ms. A tab takes over the stream
 * after this many checks in a row without a report. It counts checks, not time: after a freeze, much time has passed, but the
 * reports have not been read yet.
 */
const LEADER_LOST_CHECKS = 8
/** Each tab adds a random number of checks below this, so that not all tabs take over at the same time. */
const MORE_CHECKS = 4
const RETRY_MS = 2000
const NAME = 'trackpost-collector'

export const latest = signal<StreamMessage | undefined>(undefined)

const isOpen = signal(false)
const heardAtMs = signal(0)
const nowMs = signal(Date.now())
/** When this tab began to listen. For the first three seconds, the state is `connecting` and not `lost`. */
const startedAtMs = signal(Date.now())

export const connection = computed<Connection>(() => {
  const quietMs = nowMs.value - heardAtMs.value
  if (isOpen.value && quietMs > SILENT_AFTER_MS) return 'silent'
  if (isOpen.value) return typeof latest.value?.storeUnavailable === 'string' ? 'unavailable' : 'live'
  if (heardAtMs.value === 0 && nowMs.value - startedAtMs.value < SILENT_AFTER_MS) return 'connecting'
  return 'lost'
})

/** Whole seconds since the last message from the collector. */
export const quietSeconds = computed(() => Math.max(0, Math.floor((nowMs.value - heardAtMs.value) / 1000)))

/** When the collector was last heard; undefined = not yet. In ISO 8601. */
export const heardAt = computed(() =>
  heardAtMs.value === 0 ? undefined : new Date(heardAtMs.value).toISOString(),
)

/** The time of the computer's clock, updated twice a second while the tab is visible. */
export const clockMs = computed(() => nowMs.value)

export const today = computed(() => dayKey(new Date(nowMs.value).toISOString()))

let stream: EventSource | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let channel: BroadcastChannel | undefined
let silentChecks = 0
let leave: (() => void) | undefined
let isLeader = false

function relay(message: Relay): void {
  channel?.postMessage(message)
}

function hear(message: StreamMessage): void {
  isOpen.value = true
  heardAtMs.value = Date.now()
  nowMs.value = Date.now()
  latest.value = message
  // A message proves that the user has access, perhaps after a login in another tab.
  access.value = 'open'
}

function openStream(): void {
  clearTimeout(retry)
  stream?.close()
  stream = new EventSource('api/stream')
  stream.onmessage = ({ data }) => {
    const message = JSON.parse(data) as StreamMessage
    hear(message)
    relay({ kind: 'message', message })
  }
  stream.onerror = () => {
    isOpen.value = false
    if (stream?.readyState !== EventSource.CLOSED) return
    // After a refusal (too many pages are open, or the user is not logged in), the browser does not reconnect by itself.
    retry = setTimeout(openStream, RETRY_MS)
    // A stream does not tell why it was refused. This request does, and shows the login form if the user is not logged in.
    ask('api/about').catch(() => {})
  }
}

function closeStream(): void {
  clearTimeout(retry)
  stream?.close()
  stream = undefined
}

/**
 * A browser opens at most six connections to one address. If each tab had a stream, the seventh tab could send no request. So
 * one visible tab holds the stream, and relays its messages to the others.
 */
async function lead(signal: AbortSignal, steal: boolean): Promise<void> {
  const hold = () => {
    isLeader = true
    // Tells the other tabs at once, before the first message of the stream.
    relay({ kind: 'leader' })
    openStream()
    return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  try {
    // The two options `steal` and `signal` must not be used together.
    await navigator.locks.request(NAME, steal ? { steal } : { signal }, hold)
  } catch {
    // Another tab has stolen the lock, or this tab was hidden while it waited for the lock.
  }
  isLeader = false
  closeStream()
  if (!signal.aborted) void lead(signal, false)
}

function join(): void {
  if (leave !== undefined) return
  startedAtMs.value = Date.now()
  nowMs.value = Date.now()
  silentChecks = 0
  const patience = LEADER_LOST_CHECKS + Math.floor(Math.random() * MORE_CHECKS)
  const gone = new AbortController()
  const timer = setInterval(check, CHECK_EVERY_MS)
  leave = () => {
    leave = undefined
    clearInterval(timer)
    gone.abort()
    channel?.close()
    channel = undefined
    closeStream()
  }
  // The browser has no `navigator.locks` on a page that came over plain HTTP from another machine.
  if (navigator.locks === undefined || typeof BroadcastChannel === 'undefined') return openStream()
  channel = new BroadcastChannel(NAME)
  channel.onmessage = ({ data }: MessageEvent<Relay>) => {
    if (isLeader) return
    silentChecks = 0
    if (data.kind === 'leader') return
    if (data.kind === 'message') return hear(data.message)
    isOpen.value = data.isOpen
    heardAtMs.value = Math.max(heardAtMs.value, data.heardAtMs)
  }
  void lead(gone.signal, false)

  function check(): void {
    nowMs.value = Date.now()
    if (channel === undefined) return
    if (isLeader) return relay({ kind: 'state', isOpen: isOpen.value, heardAtMs: heardAtMs.value })
    // A tab that is paused in a debugger keeps the lock, but sends no reports.
    silentChecks++
    if (silentChecks < patience) return
    silentChecks = 0
    void lead(gone.signal, true)
  }
}

/**
 * A hidden tab closes its stream. When the tab is visible again, it uses the stream of another tab, or opens one.
 *
 * @returns A function that ends listening permanently.
 */
export function listen(): () => void {
  const gone = new AbortController()
  const options = { signal: gone.signal }
  const follow = () => (document.visibilityState === 'visible' ? join() : leave?.())
  document.addEventListener('visibilitychange', follow, options)
  addEventListener('pagehide', () => leave?.(), options)
  addEventListener('pageshow', follow, options)
  follow()
  return () => {
    gone.abort()
    leave?.()
  }
}
