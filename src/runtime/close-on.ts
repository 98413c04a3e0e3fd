import { constants } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { detectRuntime } from './detect.ts'
import { warn } from './warn.ts'

/** What {@link closeOn} needs of an `Analytics`. */
export interface ClosableClient {
  /** Sends the waiting events. */
  flush(options: { timeout?: number }): Promise<unknown>
  /** Accepts no further events, and sends the waiting events. */
  closeAndFlush(options: { timeout?: number }): Promise<unknown>
}

/** Options of {@link closeOn}. */
export interface CloseOnOptions {
  /** Longest wait for the waiting events, in milliseconds; 0 means no limit. Default: 8,000. */
  timeout?: number | undefined
}

/** Less than the 10 s that Docker allows before it kills a process, and the 30 s of Kubernetes. */
const CLOSE_ON_TIMEOUT_MS = 8_000

/** Global, so that another copy of this module recognises the listeners too. */
const MARK: unique symbol = Symbol.for('trackpost.closeOn')

type Listener = ((signal: NodeJS.Signals) => void) & { [MARK]?: true }

/**
 * Closes the client when the process gets a signal to end, and then ends the process by that signal: in a shell, the exit code
 * is 128 plus the number of the signal. Events tracked after the signal fail with `closed`.
 *
 * If the program has its own handler for the signal, the waiting events are sent, but the client stays open, and the handler
 * decides when the process ends. Without such a handler, a second signal ends the process at once. In worker threads and on
 * Cloudflare Workers, no signal can arrive: `closeOn` only warns.
 *
 * @returns A function that removes the listeners.
 * @throws TypeError when the list is empty, or contains a signal that cannot be handled.
 * @example
 * closeOn(analytics, ['SIGTERM', 'SIGINT'], { timeout: 5_000 })
 */
export function closeOn(
  analytics: ClosableClient,
  signals: readonly `SIG${string}`[],
  options: CloseOnOptions = {},
): () => void {
  checkSignals(signals)
  const missing = whySignalsAreMissing()
  if (missing !== undefined) {
    warn('signals', `closeOn: ${missing}`)
    return () => {}
  }
  const timeout = options.timeout ?? CLOSE_ON_TIMEOUT_MS
  let hasBegun = false
  const remove = (): void => {
    for (const signal of signals) process.removeListener(signal, listener)
  }
  const end = (signal: NodeJS.Signals): void => {
    remove()
    // Other listeners belong to a client that is still closing, or to the program, which then ends the process itself.
    if (process.listenerCount(signal) === 0) raise(signal)
  }
  const listener: Listener = (signal) => {
    const isOurs = (process.listeners(signal) as Listener[]).every((one) => one[MARK] === true)
    if (hasBegun) return isOurs ? end(signal) : undefined
    hasBegun = true
    const work = isOurs ? analytics.closeAndFlush({ timeout }) : analytics.flush({ timeout })
    const done = (): void => (isOurs ? end(signal) : undefined)
    work.then(done, done)
  }
  listener[MARK] = true
  // The listener is prepended, so that it runs before listeners added with `once`: these are removed from the list when they
  // are called, and the check above would not see them.
  for (const signal of signals) process.prependListener(signal, listener)
  return remove
}

function checkSignals(signals: unknown): asserts signals is NodeJS.Signals[] {
  const isUsable = (signal: unknown): boolean =>
    typeof signal === 'string' &&
    Object.keys(constants.signals).includes(signal) &&
    !/^SIG(?:KILL|STOP)$/.test(signal)
  if (Array.isArray(signals) && signals.length > 0 && signals.every(isUsable)) return
  throw new TypeError("closeOn: expected signals that can be listened to, such as ['SIGTERM', 'SIGINT']")
}

function whySignalsAreMissing(): string | undefined {
  if (detectRuntime().jsRuntime === 'cloudflare-worker') {
    return 'no signal reaches a Cloudflare Worker; use the setting waitUntil, or await flush()'
  }
  if (isMainThread) return undefined
  return 'no signal reaches a worker thread; call closeAndFlush() there on a message from the main thread'
}

function raise(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal)
  // For the first process of a container (process id 1), signals have no default action.
  if (process.pid === 1) process.exit(128 + constants.signals[signal])
}
