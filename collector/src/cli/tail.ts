import { isIPv6 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { withoutBrackets } from '../network-address.ts'
import type { EventSummary } from '../record.ts'
import type { EventsPage } from '../store/query-results.ts'
import { printable } from './log.ts'

export interface TailOptions {
  address: string
  /** A search line; empty for all events. */
  q: string
  isJson: boolean
  token: string | undefined
  write(line: string): void
  /** For what is about the command itself. */
  tell(line: string): void
  signal?: AbortSignal
}

const POLL_MS = 250
const RETRY_MS = 1000

/** The address of a collector on this machine. If it listens on all interfaces, that is the loopback address. */
export function localUrl(given: string, port: number): string {
  const host = withoutBrackets(given)
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

/**
 * Prints the events that arrive from now on. Goes on through restarts of the collector. Resolves with the exit code: 1 if the search
 * or the token is wrong.
 */
export async function tail({ address, q, isJson, token, write, tell, signal }: TailOptions): Promise<number> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const view = isJson ? 'full' : 'summary'
  let head: string | undefined
  let isSilent = false
  while (!signal?.aborted) {
    // The first answer only says where the list ends.
    const part =
      head === undefined ? { order: 'newest', limit: '1' } : { order: 'oldest', limit: '1000', after: head }
    const url = `${address}/api/events?${new URLSearchParams({ q, view, ...part })}`
    const response = await fetch(url, { headers, signal: signal ?? null }).catch(() => undefined)
    if (response === undefined || response.status >= 500) {
      if (!isSilent && !signal?.aborted) tell(`${address} does not respond; waiting for it\n`)
      isSilent = true
      await sleep(RETRY_MS, undefined, { signal: signal ?? undefined }).catch(() => {})
      continue
    }
    isSilent = false
    if (!response.ok) {
      const { message } = (await response.json()) as { message?: string }
      tell(`${printable(message ?? `answered ${response.status}`)}\n`)
      return 1
    }
    const page = (await response.json()) as EventsPage
    const isFull = head !== undefined && page.next !== null
    if (head !== undefined)
      for (const event of page.events) write(isJson ? `${JSON.stringify(event)}\n` : lineOf(event))
    head = isFull ? String(page.events.at(-1)?.seq) : page.head
    if (!isFull) await sleep(POLL_MS, undefined, { signal: signal ?? undefined }).catch(() => {})
  }
  return 0
}

/** One line for people: time, outcome, kind and name, who, and the first values. */
function lineOf(event: EventSummary): string {
  const { receivedAt, reason, type, name, userId, anonymousId, preview } = event
  const values = preview.map(
    ({ path, value }) => `${path.replace(/^(?:properties|traits)\./, '')}=${JSON.stringify(value)}`,
  )
  const what = name === null ? (type ?? '?') : `${type ?? '?'} ${name}`
  const who = userId ?? anonymousId ?? 'nobody'
  return `${printable([receivedAt.slice(11, 23), reason ?? 'accepted', what, who, ...values].join('  '))}\n`
}
