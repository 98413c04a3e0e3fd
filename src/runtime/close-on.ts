import { constants } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { detectRuntime } from './detect.ts'
import { warn } from './warn.ts'

/** The part of a client that {@link closeOn} needs: an `Analytics`, or several of them as one from `combine`. */
export interface ClosableClient {
  /** Sends what waits. */
  flush(options: { timeout?: number }): Promise<unknown>
  /** Takes nothing more, and sends what waits. */
  closeAndFlush(options: { timeout?: number }): Promise<unknown>
}

/** How {@link closeOn} closes. */
export interface CloseOnOptions {
  /** Longest wait for the events that are still to be sent; 0 means no limit. Default: 8,000 ms. */
  timeout?: number | undefined
}

/** Below the 10 s that Docker gives a process, and the 30 s of Kubernetes. */
const TIMEOUT_MS = 8_000

/** Marks our listeners. A registered symbol, so that another copy of this module recognises them too. */
const MARK: unique symbol = Symbol.for('trackpost.closeOn')

type Listener = ((signal: NodeJS.Signals) => void) & { [MARK]?: true }

/**
 * Sends the waiting events when the process gets a signal to end, and then lets the signal have its default effect: the
 * process ends by the signal (in a shell, the exit code is 128 plus its number). Events tracked after the signal fail with
 * `closed`.
 *
 * If the program has a handler of its own for the signal, that handler decides when the process ends: the waiting events
 * are sent, and the client stays open. Without such a handler, a second signal ends the process at once.
 *
 * Where no signal can arrive (worker threads, Cloudflare Workers) it does nothing, and a warning says what to do instead.
 *
 * @param signals For instance `['SIGTERM', 'SIGINT']`.
 * @returns A function that removes the listeners.
 * @throws TypeError when the list is empty, or has a signal that cannot be listened to.
 * @example
 * import { Analytics } from 'trackpost'
 * import { closeOn } from 'trackpost/node'
 *
 * const analytics = new Analytics({ writeKey })
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
  const timeout = options.timeout ?? TIMEOUT_MS
  let hasBegun = false
  const remove = (): void => {
    for (const signal of signals) process.removeListener(signal, listener)
  }
  const end = (signal: NodeJS.Signals): void => {
    remove()
    // If listeners are left, another client is still closing or the program has added a handler: the last one ends the
    // process.
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
  // Prepended: a listener added with `once` is removed from the list when it is called, and we must see it there.
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

/** Why no signal will come, and what to do instead; `undefined` where they come. */
function whySignalsAreMissing(): string | undefined {
  if (detectRuntime().jsRuntime === 'cloudflare-worker') {
    return 'no signal reaches a Cloudflare Worker; use the setting waitUntil, or await flush()'
  }
  if (isMainThread) return undefined
  return 'no signal reaches a worker thread; have the main thread post a message on which it calls closeAndFlush()'
}

/** Sends the signal again. Nobody listens any more, so it has its default action. */
function raise(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal)
  // For the first process of a container, signals have no default action.
  if (process.pid === 1) process.exit(128 + constants.signals[signal])
}
