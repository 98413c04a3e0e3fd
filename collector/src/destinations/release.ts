import { ConfigError } from '../config/config-error.ts'
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

const TIMEOUT_MS = 15_000

/** @throws ConfigError unless the text has the form `https://<write key>@api.example.com`. */
export function readRelease(text: string): ReleaseTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const writeKey = decoded(url?.username ?? '')
  if (url === undefined || !/^https?:$/.test(url.protocol) || writeKey === '' || url.password !== '')
    throw new ConfigError('releaseTo: expected https://<write key>@<host>')
  url.username = ''
  return { url: `${url.origin}${url.pathname.replace(/\/$/, '')}`, writeKey }
}

/**
 * Sends one event as its client sent it, but with the write key of the target. Does not follow redirects.
 *
 * @returns Why it was not released; null if it was.
 */
export async function releaseEvent(target: ReleaseTarget, record: Releasable): Promise<string | null> {
  if (record.status !== 'accepted') return 'it was not accepted'
  const message = record.sent ?? record.message
  if (message === null) return 'its message is not stored'
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
    return response.ok ? null : `answered ${response.status}`
  } catch (cause) {
    return connectionReason(cause)
  }
}
