import { decoded } from '../percent-decoding.ts'
import type { EventRecord, Message } from '../record.ts'
import { connectionReason } from './sender.ts'

/** Releasing an event means sending it to another service. */
export type Releasable = Pick<EventRecord, 'status' | 'type' | 'message'> & { sent: Message | null }

export interface ReleaseTarget {
  /** Without the write key, because users see this URL. */
  url: string
  writeKey: string
}

export type ReleaseResult = { released: true } | { released: false; reason: string }

const TIMEOUT_MS = 15_000

/** Reads `https://<write key>@api.example.com`. Returns undefined if the text has another form. */
export function readReleaseTarget(text: string): ReleaseTarget | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const writeKey = decoded(url.username)
  if (!['http:', 'https:'].includes(url.protocol) || writeKey === '' || url.password !== '') return undefined
  url.username = ''
  return { url: `${url.origin}${url.pathname.replace(/\/$/, '')}`, writeKey }
}

/** Sends one event as its client sent it, but with the write key of the target. Does not follow redirects. */
export async function releaseEvent(target: ReleaseTarget, record: Releasable): Promise<ReleaseResult> {
  if (record.status !== 'accepted') return { released: false, reason: 'it was not accepted' }
  const message = record.sent ?? record.message
  if (message === null) return { released: false, reason: 'its message is not stored' }
  try {
    const response = await fetch(`${target.url}/v1/${record.type}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${target.writeKey}:`).toString('base64')}`,
      },
      body: JSON.stringify(message),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body?.cancel()
    return response.ok ? { released: true } : { released: false, reason: `answered ${response.status}` }
  } catch (cause) {
    return { released: false, reason: connectionReason(cause) }
  }
}
