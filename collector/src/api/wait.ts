import type { ServerResponse } from 'node:http'
import { goneSignal } from '../http/gone.ts'
import { HttpProblem, replyJson } from '../http/reply.ts'
import { ClosedError, type WaitOptions, WaitTimeoutError } from '../live/waiters.ts'
import type { EventRecord } from '../record.ts'
import { Limited } from './limited.ts'
import { readCursorOrSeq, readQuery } from './query.ts'

const MAX_WAITS = 100
const waits = new Limited(
  MAX_WAITS,
  'too_many_waits',
  `${MAX_WAITS} waits are open already: end some, or wait for several events at once with count and OR`,
)

/** A wait is a request that is answered when enough events have arrived. */
export async function wait(
  waitFor: (options: WaitOptions, signal: AbortSignal) => Promise<EventRecord[]>,
  parameters: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const { after, from, to, ...options } = readQuery('wait', parameters)
  if (from !== undefined || to !== undefined) {
    throw new HttpProblem(400, 'bad_query', 'from, to: a wait has no range; use received>= in q')
  }
  const given = { ...options, ...(after && { after: readCursorOrSeq(after) }) }
  try {
    const events = await waits.run(() => waitFor(given, goneSignal(response)))
    replyJson(response, 200, { events })
  } catch (cause) {
    if (cause instanceof ClosedError) throw new HttpProblem(503, 'closed', cause.message)
    if (!(cause instanceof WaitTimeoutError)) throw cause
    throw new HttpProblem(408, cause.code, cause.message)
  }
}
