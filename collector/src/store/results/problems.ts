import { helpFor } from '../../help.ts'
import type { Reason } from '../../record.ts'
import { term } from '../../search/syntax.ts'
import { endOfBucket } from '../buckets.ts'
import type { Problem } from '../query-results.ts'

const MAX_PROBLEMS = 200
const MAX_SOURCES = 20
const SEVERITIES = ['error', 'warning', 'info']

/** So long may the examples be looked for, milliseconds. */
export const EXAMPLES_MS = 60

/** Worst first. */
export function ordered(problems: readonly Problem[]): Problem[] {
  return problems
    .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count)
    .slice(0, MAX_PROBLEMS)
}

/**
 * The reasons for which events were not accepted, without examples.
 *
 * @param rows The most frequent first; `last` is a bucket.
 */
export function eventProblems(
  rows: ReadonlyArray<{ reason: Reason; source: string; count: number; last: number }>,
): Map<string, Problem> {
  const byReason = new Map<string, Problem>()
  for (const { reason, source, count, last } of rows) {
    const known = byReason.get(reason)
    const lastSeen = endOfBucket(last)
    if (known === undefined) {
      byReason.set(reason, {
        kind: 'event',
        reason,
        count,
        ...helpFor(reason),
        lastSeen,
        sources: [{ name: source, count }],
        example: null,
        q: term('reason', reason),
      })
    } else {
      known.count += count
      if (lastSeen > known.lastSeen) known.lastSeen = lastSeen
      if (known.sources.length < MAX_SOURCES) known.sources.push({ name: source, count })
    }
  }
  return byReason
}

/** Requests that were refused in one way. */
export function requestProblem(
  { status, code, count, last }: { status: number; code: string; count: number; last: number },
  example: number | undefined,
): Problem {
  const meaning = status === 0 ? 'the connection ended before there was a response' : `answered ${status}`
  const help = helpFor(code)
  return {
    kind: 'request',
    reason: code === '' ? `status_${status}` : code,
    count,
    ...help,
    meaning: help.meaning === code ? `${meaning}${code === '' ? '' : `: ${code}`}` : help.meaning,
    severity: status === 429 || status === 0 ? 'warning' : help.severity,
    lastSeen: endOfBucket(last),
    sources: [],
    example: example === undefined ? null : String(example),
    q: code === '' ? `status:${status}` : `status:${status} ${term('code', code)}`,
  }
}

/** Deliveries that were given up for one reason. */
export function deliveryProblem(
  { destination, reason, count, last }: { destination: string; reason: string; count: number; last: number },
  example: number | undefined,
): Problem {
  return {
    kind: 'delivery',
    reason,
    count,
    meaning: `${destination} was given up: ${reason}`,
    remedy: 'Look at the receiver, then retry the failed ones under Destinations.',
    severity: 'error',
    field: null,
    lastSeen: endOfBucket(last),
    sources: [],
    example: example === undefined ? null : String(example),
    q: `${term('destination', destination)} delivery:failed`,
  }
}

/** Events that break the tracking plan. */
export function planProblem(count: number, example: number, atMs: number): Problem {
  return {
    kind: 'plan',
    reason: 'violation',
    count,
    meaning: 'the event is not as the tracking plan has it',
    remedy: 'Open one: it names each field and what the plan expects. Mend the call, or the plan.',
    severity: 'warning',
    field: null,
    lastSeen: new Date(atMs).toISOString(),
    sources: [],
    example: String(example),
    q: 'violation:*',
  }
}
