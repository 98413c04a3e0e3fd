import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { drained, goneSignal } from '../http/gone.ts'
import { HttpProblem, JSON_TYPE, SECURITY_HEADERS } from '../http/reply.ts'
import { ClosedError, type WaitOptions, WaitTimeoutError } from '../live/waiters.ts'
import type { EventRecord } from '../record.ts'
import type { ChangeFeed } from '../store/ports.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { readCursorOrSeq, readQuery } from './query.ts'

/** A wait is a request that is answered when enough events have arrived. */
export interface WaitParts {
  /** Only used as the key under which the waits of this collector are counted. */
  changes: ChangeFeed
  setTimer: Clock['setTimer']
  wait(options: WaitOptions, signal: AbortSignal): Promise<AsyncIterable<EventRecord[]>>
}

const MAX_WAITS = 100
const waits = new ConcurrencyLimit({
  limit: MAX_WAITS,
  code: 'too_many_waits',
  message: `${MAX_WAITS} waits are open already: end some, or wait for several events at once with count and OR`,
  retrySeconds: 1,
})

export async function wait(
  parts: WaitParts,
  parameters: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const { after, before, from, to, ...options } = readQuery('wait', parameters)
  if (from !== undefined || to !== undefined) {
    throw new HttpProblem(400, 'bad_query', 'from, to: a wait has no range; use received>= in q')
  }
  const given = {
    ...options,
    ...(after && { after: readCursorOrSeq(after) }),
    ...(before && { before: readCursorOrSeq(before) }),
  }
  const signal = goneSignal(response)
  try {
    await waits.run(parts.changes, async () =>
      sendRecords(await parts.wait(given, signal), response, parts.setTimer),
    )
  } catch (cause) {
    if (cause instanceof ClosedError) throw new HttpProblem(503, 'closed', cause.message)
    if (!(cause instanceof WaitTimeoutError)) throw cause
    throw new HttpProblem(408, cause.code, cause.message)
  }
}

/** Sends records page by page, no faster than the client reads: there may be a million of them. */
async function sendRecords(
  pages: AsyncIterable<EventRecord[]>,
  response: ServerResponse,
  setTimer: Clock['setTimer'],
): Promise<void> {
  let before = '{"events":['
  for await (const page of pages) {
    // The headers are sent with the first page, so that an earlier failure can still get an error response.
    if (!response.headersSent) response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': JSON_TYPE })
    if (page.length === 0) continue
    const text = `${before}${page.map((record) => JSON.stringify(record)).join()}`
    before = ','
    if (!response.write(text) && !(await drained(response, setTimer))) return
  }
  response.end(before === ',' ? ']}' : `${before}]}`)
}
