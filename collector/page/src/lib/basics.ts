import { computed, signal } from '@preact/signals'
import { getJson } from './http.ts'
import type { About, Help, Reasons, Severity } from './types.ts'

/** `undefined` until it is loaded. */
export const about = signal<About | undefined>(undefined)
const reasons = signal<Reasons | undefined>(undefined)

/** Loads the data that does not change while a collector runs. */
export async function loadBasics(): Promise<void> {
  about.value = await getJson<About>('api/about')
  reasons.value = await getJson<Reasons>('api/reasons')
}

export function helpFor(code: string): Help | undefined {
  return reasons.value?.help[code]
}

export function severityOf(reason: string): Severity {
  return helpFor(reason)?.severity ?? 'error'
}

/** Codes whose words would be odd or too long. */
const SHORT_WORDS: Readonly<Record<string, string>> = {
  no_user_anon_id: 'no user',
  no_user_id: 'no userId',
  no_event: 'no event name',
  no_group_id: 'no groupId',
  no_previous_id: 'no previousId',
  bad_message_id: 'bad messageId',
  dedup_conflict: 'conflict',
  invalid_json: 'invalid JSON',
  timestamp_zone: 'no time zone',
}

/** A few words for a code, where a sentence has no room. */
export function codeInWords(code: string): string {
  return SHORT_WORDS[code] ?? code.replaceAll('_', ' ')
}

/** Explains in words why an event was not sent to a destination. */
export function skipInWords(reason: string): string {
  return reasons.value?.skips[reason] ?? reason
}

/** The codes that the search box suggests. */
export const reasonCodes = computed(() => Object.keys(reasons.value?.reasons ?? {}))
export const warningCodes = computed(() => Object.keys(reasons.value?.warnings ?? {}))
