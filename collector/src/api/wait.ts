import { goneSignal } from '../http/gone.ts'
import { HttpProblem } from '../http/reply.ts'
import { ClosedError, WaitTimeoutError } from '../live/waiters.ts'
import type { EventRecord } from '../record.ts'
import type { Asking } from './asking.ts'
import { readQuery } from './query.ts'

/** Each wait is a query after each commit. */
const MAX_WAITS = 100

export async function wait({ waiters, parameters, response }: Asking): Promise<{ events: EventRecord[] }> {
  const { after, from, to, ...options } = readQuery('wait', parameters)
  if (from !== undefined || to !== undefined) {
    throw new HttpProblem(400, 'bad_query', 'from, to: a wait has no range; use received>= in q')
  }
  if (waiters.size >= MAX_WAITS) {
    const message = `${MAX_WAITS} waits are open already: end some, or wait for several events at once with count and OR`
    throw new HttpProblem(503, 'too_many_waits', message, { 'retry-after': '1' })
  }
  const given = { ...options, ...(after && { after }) }
  try {
    return { events: await waiters.wait(given, goneSignal(response)) }
  } catch (cause) {
    if (cause instanceof ClosedError) throw new HttpProblem(503, 'closed', cause.message)
    if (!(cause instanceof WaitTimeoutError)) throw cause
    throw new HttpProblem(408, cause.code, cause.message)
  }
}
