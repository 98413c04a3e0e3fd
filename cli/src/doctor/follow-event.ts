import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Analytics } from 'trackpost'
import { toBase } from '../tail/base.ts'
import { CollectorApi, type EventSummary, TokenError } from '../tail/collector-api.ts'
import { type Finding, note, ok, problem } from './findings.ts'

/** How long the event may take through the collector, deliveries included. */
const PATIENCE_MS = 10_000
const POLL_MS = 200

/** Sends one event, if there is a collector at the address, and looks for it there. */
export async function followEvent(
  client: Analytics,
  host: string | undefined,
  adminToken: string | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  const api = host === undefined ? undefined : await findCollector(toBase(host), adminToken, signal)
  if (api === undefined) {
    const text = 'not sent: only a collector can show what became of it'
    return note('event', text, 'send one with `trackpost send track`, and look for it in the service')
  }
  if (typeof api === 'string')
    return note('event', `not sent: ${api}`, 'give the admin token of the collector')
  const messageId = `trackpost-doctor-${randomUUID()}`
  try {
    await client.promises.track({ userId: 'trackpost-doctor', event: 'Trackpost Doctor', messageId })
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    const page = 'https://github.com/trackpost/trackpost/blob/main/docs/errors.md'
    return problem('event', `not delivered: ${code}: ${message}`, `${page} explains this code`)
  }
  const event = await findEvent(api, messageId, signal)
  if (event === undefined) {
    const text = `delivered, but not in the collector after ${PATIENCE_MS / 1_000} s`
    return problem('event', text, 'look at the problems on the page of the collector, and at its log')
  }
  return judge(event)
}

/** Returns the collector at an address, what it says about the token, or `undefined` if another service is there. */
async function findCollector(
  base: URL,
  adminToken: string | undefined,
  signal: AbortSignal,
): Promise<CollectorApi | string | undefined> {
  // The token is sent only to a service that asks for it as a collector does.
  const tokens = adminToken === undefined ? [undefined] : [undefined, adminToken]
  let refusal: string | undefined
  for (const token of tokens) {
    const api = new CollectorApi(base, token)
    try {
      const { version } = await api.about(signal)
      return version === undefined ? undefined : api
    } catch (error) {
      if (!(error instanceof TokenError)) return undefined
      refusal = error.message
    }
  }
  return refusal
}

async function findEvent(
  api: CollectorApi,
  messageId: string,
  signal: AbortSignal,
): Promise<EventSummary | undefined> {
  let event: EventSummary | undefined
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && !signal.aborted; waitedMs += POLL_MS) {
    const page = await api.events({ messageId, view: 'summary' }, signal).catch(() => undefined)
    event = page?.events[0] ?? event
    if (event !== undefined && !isOnItsWay(event)) return event
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
  }
  return event
}

function isOnItsWay({ destinations = [] }: EventSummary): boolean {
  return destinations.some(({ state }) => state === 'pending')
}

function judge({ status, reason, source, destinations = [] }: EventSummary): Finding {
  if (status === 'rejected')
    return problem(
      'event',
      `received, but not accepted: ${reason}`,
      'the page of the collector says what to change',
    )
  const list = destinations.map(
    ({ name, state, reason }) => `${name} ${state}${reason === null ? '' : ` (${reason})`}`,
  )
  const text = ['delivered, and accepted', source === null ? '' : ` for the source ${source}`].join('')
  if (destinations.some(({ state }) => state === 'failed' || state === 'pending')) {
    return problem(
      'event',
      `${text}; ${list.join(', ')}`,
      'check the address and the credentials of the destination',
    )
  }
  return ok('event', list.length === 0 ? text : `${text}; ${list.join(', ')}`)
}
