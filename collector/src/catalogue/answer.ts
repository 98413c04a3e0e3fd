import type { EventRecord } from '../record.ts'

export type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'array' | 'object'

/** The part of JSON Schema that the catalogue uses. */
export interface JsonSchema {
  type?: JsonType | JsonType[]
  format?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
}

export interface FoundType {
  type: JsonType
  format?: 'date-time'
  share: number
  count: number
  example: unknown
  exampleId: string
}

/** The values that were found at one path of the properties or traits. */
export interface FoundField {
  path: string
  /** Share of the events that have the path, among those with the object or list around it. */
  presence: number
  /** Whether it is in every object in which it could be. */
  isRequired: boolean
  /** The most frequent type. */
  type: JsonType
  isInconsistent: boolean
  types: FoundType[]
  /** Up to five distinct values. */
  values: unknown[]
}

export interface CatalogueEntry {
  key: string
  type: string
  name: string
  count: number
  accepted: number
  /** Without `repeated`, the harmless duplicates. */
  rejected: number
  repeated: number
  firstSeen: string
  lastSeen: string
  sources: Array<{ name: string; count: number }>
  sparkline: number[]
  /** Paths with values, and those with contradicting types, in the accepted events; null if there are none. */
  properties: number | null
  inconsistent: number | null
  /** Events that violate the plan, of all. */
  violations: number
  isPlanned: boolean | null
  q: string
}

export interface Catalogue {
  entries: CatalogueEntry[]
  plan: { title: string; events: number; unseen: string[] } | null
  isComplete: boolean
}

export interface CatalogueDetail extends CatalogueEntry {
  fields: FoundField[]
  example: EventRecord | null
  schema: JsonSchema
}
