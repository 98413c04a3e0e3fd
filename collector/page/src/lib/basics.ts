import { computed, signal } from '@preact/signals'
import { getJson } from './http.ts'
import type { About, Help, Reasons, Severity } from './types.ts'

/** The facts about the collector; undefined until they have arrived. */
export const about = signal<About | undefined>(undefined)
const reasons = signal<Reasons | undefined>(undefined)

/** Loads the data that does not change while a collector runs. */
export async function loadBasics(): Promise<void> {
  about.value = await getJson<About>('api/about')
  // A front without a store has no events, so needs no reasons.
  if (about.value.message === undefined) reasons.value = await getJson<Reasons>('api/reasons')
}

/** The explanation of a reason or a warning, if the collector has one. */
export function helpFor(code: string): Help | undefined {
  return reasons.value?.help[code]
}

export function severityOf(reason: string): Severity {
  return helpFor(reason)?.severity ?? 'error'
}

/** Why a destination was skipped, in words. */
export function skipInWords(reason: string): string {
  return reasons.value?.skips[reason] ?? reason
}

/** Codes that can be searched for. */
export const reasonCodes = computed(() => Object.keys(reasons.value?.reasons ?? {}))
export const warningCodes = computed(() => Object.keys(reasons.value?.warnings ?? {}))
