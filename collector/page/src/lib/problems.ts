import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { about } from './basics.ts'
import { access } from './http.ts'
import type { Problem } from './types.ts'
import { useQuery } from './use-query.ts'

/** The answer of `api/problems`. */
export interface Problems {
  problems: Problem[]
  isComplete: boolean
}

/** Counting them takes the collector longer than its other numbers, and nobody waits for this one. */
const REFRESH_MS = 10_000

/** How many problems of all times the screen shows, but for the harmless ones. */
export const problemCount = signal(0)

/** A refused request is recorded as an event too, when it could be one: it is told once, as the request. */
export function toldOnce(problems: readonly Problem[]): Problem[] {
  const refused = new Set(problems.flatMap(({ kind, reason }) => (kind === 'request' ? [reason] : [])))
  return problems.filter(({ kind, reason }) => kind !== 'event' || !refused.has(reason))
}

/** Takes the number from an answer about all times. */
export function countProblems({ problems }: Problems): void {
  problemCount.value = toldOnce(problems).filter(({ severity }) => severity !== 'info').length
}

/** Keeps `problemCount` current, wherever the reader is. */
export function useProblemCount(): void {
  const isKnown = access.value === 'open' && about.value !== undefined && about.value.message === undefined
  const { data } = useQuery<Problems>(isKnown ? 'api/problems' : undefined, REFRESH_MS)
  useEffect(() => {
    if (data !== undefined) countProblems(data)
  }, [data])
}
