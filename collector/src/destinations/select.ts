import type { Source } from '../auth/sources.ts'
import type { DestinationConfig } from '../config/schema.ts'
import { isObject } from '../json/is-object.ts'
import type { PlannedDelivery } from '../new-event.ts'

/** Older events are past data. */
const PAST_MS = 24 * 3_600_000

export const SKIP_REASONS = {
  not_enabled: 'not enabled for this source',
  integrations: 'turned off by integrations',
  past_data: 'takes no past data',
} as const
export type SkipReason = keyof typeof SKIP_REASONS

/** The `integrations` of an event, followed by that of its batch. For each name, the first object that has it decides. */
type Integrations = ReadonlyArray<Readonly<Record<string, unknown>>>

/** Returns undefined if `integrations` turns the destination neither on nor off. Names are case-sensitive. */
function switchFor(integrations: Integrations, name: string): boolean | undefined {
  const value = integrations.find((one) => Object.hasOwn(one, name))?.[name]
  if (typeof value === 'boolean') return value
  // An object contains options for the destination, and turns the destination on.
  return isObject(value) ? true : undefined
}

/**
 * The name of the destination decides, then its alternative names in order, then `All`. If `integrations` has none of these
 * names, the destination is on (specification, section 2).
 */
export function isSwitchedOn(integrations: Integrations, names: readonly string[]): boolean {
  for (const name of names) {
    const explicit = switchFor(integrations, name)
    if (explicit !== undefined) return explicit
  }
  return switchFor(integrations, 'All') ?? true
}

/**
 * Returns the destinations of an accepted event, also the skipped ones, with the reason. Leaves out destinations that are
 * disabled in the configuration.
 */
export function planDeliveries(
  destinations: readonly DestinationConfig[],
  source: Source,
  message: { readonly integrations: Integrations; readonly timestampMs: number },
  receivedAtMs: number,
): PlannedDelivery[] {
  const planned: PlannedDelivery[] = []
  for (const { name, alternativeNames, enabled, pastData } of destinations) {
    if (!enabled) continue
    let skip: SkipReason | undefined
    if (source.destinations !== undefined && !source.destinations.includes(name)) skip = 'not_enabled'
    else if (!isSwitchedOn(message.integrations, [name, ...alternativeNames])) skip = 'integrations'
    else if (!pastData && receivedAtMs - message.timestampMs > PAST_MS) skip = 'past_data'
    planned.push(skip === undefined ? { destination: name } : { destination: name, skippedBecause: skip })
  }
  return planned
}
