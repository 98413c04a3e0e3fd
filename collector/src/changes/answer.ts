import type { Difference, Grade } from './compare.ts'

/** A mark in time: from here on, the events come from other code. */
export interface Deploy {
  id: string
  /** In ISO 8601. */
  at: string
  /** What was deployed, such as a version or a commit; may be empty. */
  name: string
}

/** One side of a change: how many events, how to find them, and one of them. */
export interface ShownSeen {
  count: number
  /** The events that could have had it. */
  of: number
  /** The search that finds these `count` events; null if no search can. */
  q: string | null
  from: string | null
  to: string | null
  /** The id of the newest of them; null if there is none. */
  example: string | null
}

export interface Change {
  what: Difference['what']
  grade: Grade
  sentence: string
  type: string
  name: string
  /** The property; null if the change is one of the whole event. */
  path: string | null
  before: ShownSeen
  after: ShownSeen
}

export interface ShownSide {
  from: string | null
  to: string | null
  version: string | null
  events: number
  users: number
}

export interface ChangesAnswer {
  before: ShownSide
  after: ShownSide
  changes: Change[]
  /** Whether all changes are listed, and the properties of all events were compared. */
  isComplete: boolean
}

export interface ChangesOverview {
  deploys: Deploy[]
  versions: Array<{ version: string; events: number; firstSeen: string; lastSeen: string }>
}

/** `comparison` is null if there is nothing to compare yet. */
export interface ChangesReply extends ChangesOverview {
  comparison: ChangesAnswer | null
}
