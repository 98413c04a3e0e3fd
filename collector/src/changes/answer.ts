import type { ChangesOverview, EventChanges } from './changes.ts'

export type ChangesAnswer = Awaited<ReturnType<EventChanges['compare']>>
export type Change = ChangesAnswer['changes'][number]

/** `comparison` is null if there is nothing to compare yet. */
export interface ChangesReply extends ChangesOverview {
  comparison: ChangesAnswer | null
}
