import { expect } from 'vitest'
import type { Analytics } from '../../src/analytics.ts'
import { createShared } from '../../src/core/service.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { AnalyticsOnClock, type Harness, WRITE_KEY } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import {
  networkError,
  type Reply,
  ScriptedClient,
  type SentRequest,
  status,
} from '../support/scripted-client.ts'

/** What a script has shown. Times are in milliseconds since its start. */
export interface Played extends Harness {
  /** Each request: its time and its events, as in `0 ab`. */
  readonly sent: readonly string[]
  /** Each outcome of an awaited event, and each flush and close: its time, and what was told, as in `500 A auth`. */
  readonly told: readonly string[]
}

/**
 * Plays a script on a client that sends each turn at once. Random numbers are 0, so a backoff is half of its longest time, and a
 * stated wait is as stated. The steps are separated by commas:
 *
 * - `aB`: tracks these events in one turn. A capital letter is an event with a callback.
 * - `aB 503` or `aB 503 60`: the request with these events gets this status (and `Retry-After: 60`); `reset` and `refused` are
 *   network errors. A request waits until it gets its answer.
 * - `+500`: this time passes.
 * - `flush` and `close`, also with a timeout, as in `close 30000`.
 *
 * @param isPerRequest Whether there are two clients, as those of `perRequest`: the events x, y and z are those of the second.
 */
export async function play(
  script: string,
  settings: Partial<AnalyticsSettings> = {},
  isPerRequest = false,
): Promise<Played> {
  const clock = new FakeClock()
  clock.random = () => 0
  const sent: string[] = []
  const told: string[] = []
  const open: { events: string; answer: (reply: Reply) => void }[] = []
  const hold: Reply = (request) =>
    new Promise((resolve) => {
      const events = lettersOf(request)
      sent.push(`${clock.elapsedMs} ${events}`)
      open.push({ events, answer: (reply) => resolve(reply(request)) })
    })
  const client = new ScriptedClient(clock, [hold])
  const given = {
    // Each turn is sent at its end.
    ...{ writeKey: WRITE_KEY, httpClient: client, flushInterval: 0 },
    ...{ httpRequestTimeout: 86_400_000, ...settings },
  }
  const shared = createShared()
  const create = (): Analytics => {
    const owner = { isMine: () => true, isClosed: false }
    const request = { settings: { ...resolveSettings(given), waitUntil: () => {} }, owner, shared }
    const one = new AnalyticsOnClock(given, isPerRequest ? { clock, request } : { clock })
    one.on('error', () => {})
    one.on('warning', () => {})
    return one
  }
  const analytics = create()
  const second = isPerRequest ? create() : analytics
  const tell = (text: string): void => void told.push(`${clock.elapsedMs} ${text}`)
  const wait = async (name: string, timeout: string | undefined): Promise<void> => {
    const options = timeout === undefined ? {} : { timeout: Number(timeout) }
    const waiting = name === 'flush' ? analytics.flush(options) : analytics.closeAndFlush(options)
    const { delivered, failed, pending } = await waiting
    tell(`${name} ${delivered}/${failed}/${pending}`)
  }
  for (const step of script.split(',').map((text) => text.trim())) {
    const [first = '', code, seconds] = step.split(' ')
    if (first.startsWith('+')) await clock.advance(Number(first.slice(1)))
    else if (first === 'flush' || first === 'close') void wait(first, code)
    else if (code === undefined) {
      for (const event of first) {
        const isAwaited = event !== event.toLowerCase()
        const callback = isAwaited
          ? (error?: { code: string }) => tell(`${event} ${error?.code ?? 'delivered'}`)
          : undefined
        const one = /[x-z]/i.test(event) ? second : analytics
        one.track({ userId: 'ada', event }, callback)
      }
    } else {
      const index = open.findIndex(({ events }) => events === first)
      if (index < 0) throw new Error(`${step}: no such request is open: ${sent.join(', ')}`)
      open.splice(index, 1)[0]?.answer(replyOf(code, seconds))
    }
    // The end of a turn, and of a request whose response was read.
    await settled()
    await settled()
  }
  return { analytics, clock, client, sent, told }
}

function lettersOf({ batch }: SentRequest): string {
  return batch.map(({ event }) => event).join('')
}

function replyOf(code: string, seconds: string | undefined): Reply {
  if (code === 'reset') return networkError('ECONNRESET')
  if (code === 'refused') return networkError('ECONNREFUSED')
  return status(Number(code), seconds === undefined ? {} : { 'Retry-After': seconds })
}

/** The title, the script, the requests that were sent, and what was told. */
export type Row = [
  title: string,
  script: string,
  sent: string,
  told?: string,
  settings?: Partial<AnalyticsSettings>,
]

/** Plays a row of a table of tests. After a close, no timer is left. */
export async function check(
  _title: string,
  script: string,
  sent: string,
  told = '',
  settings: Partial<AnalyticsSettings> = {},
  isPerRequest = false,
): Promise<void> {
  const played = await play(script, settings, isPerRequest)
  expect({ sent: played.sent.join(', '), told: played.told.join(', ') }).toEqual({ sent, told })
  if (told.includes('close')) expect([played.clock.timerCount, played.clock.holdCount]).toEqual([0, 0])
}

/** The same with two clients of `perRequest`. */
export const checkPerRequest = (
  title: string,
  script: string,
  sent: string,
  told?: string,
  settings?: Partial<AnalyticsSettings>,
): Promise<void> => check(title, script, sent, told, settings, true)
