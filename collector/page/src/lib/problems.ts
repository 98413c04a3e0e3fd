import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { about } from './basics.ts'
import { access } from './http.ts'
import type { Problem, Problems } from './types.ts'
import { useQuery } from './use-query.ts'

/** Refreshed rarely, because counting the problems is slow for the collector. */
const REFRESH_MS = 10_000

/** Number of problems of all time, without the harmless ones. The menu shows this number beside "Problems". */
export const problemCount = signal(0)

/** Removes duplicates: a refused request may also be recorded as an event, and is then shown only as a request. */
export function toldOnce(problems: readonly Problem[]): Problem[] {
  const refused = new Set(problems.flatMap(({ kind, reason }) => (kind === 'request' ? [reason] : [])))
  return problems.filter(({ kind, reason }) => kind !== 'event' || !refused.has(reason))
}

/** Updates the number from a response that covers all time. */
export function countProblems({ problems }: Problems): void {
  problemCount.value = toldOnce(problems).filter(({ severity }) => severity !== 'info').length
}

export function useProblemCount(): void {
  const isKnown = access.value === 'open' && about.value !== undefined
  const { data } = useQuery<Problems>(isKnown ? 'api/problems' : undefined, REFRESH_MS)
  useEffect(() => {
    if (data !== undefined) countProblems(data)
  }, [data])
}
