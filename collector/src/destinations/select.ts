import type { Source } from '../auth/sources.ts'
import type { DestinationConfig } from '../config/schema.ts'
import type { PlannedDelivery } from '../store/ports.ts'

const HOUR_MS = 3_600_000

/** Why an event does not go to a destination. */
export const SKIP_REASONS = {
  not_enabled: 'not enabled for this source',
  integrations: 'turned off by integrations',
  past_data: 'takes no past data',
} as const
export type SkipReason = keyof typeof SKIP_REASONS

/** The `integrations` of an item, followed by that of its batch. */
type Integrations = ReadonlyArray<Readonly<Record<string, unknown>>>

/** The switch of a destination in `integrations`: on, off, or none. Own keys only; names are case-sensitive. */
function switchFor(integrations: Integrations, name: string): boolean | undefined {
  const value = integrations.find((one) => Object.hasOwn(one, name))?.[name]
  if (typeof value === 'boolean') return value
  // An object holds options for the destination, which turns it on.
  return typeof value === 'object' && value !== null ? true : undefined
}

/**
 * Whether `integrations` lets an event through to a destination, spec section 2.
 *
 * The name of the destination decides, then its alternative names in order, then `All`. Without any of them, the destination is
 * on.
 */
export function isSwitchedOn(integrations: Integrations, names: readonly string[]): boolean {
  for (const name of names) {
    const explicit = switchFor(integrations, name)
    if (explicit !== undefined) return explicit
  }
  return switchFor(integrations, 'All') ?? true
}

/**
 * The destinations of an accepted event, and those that it skips with the reason. Destinations that are disabled in the config
 * are left out.
 */
export function planDeliveries(
  destinations: readonly DestinationConfig[],
  source: Source,
  message: { readonly integrations: Integrations; readonly timestampMs: number },
  receivedAtMs: number,
): PlannedDelivery[] {
  const planned: PlannedDelivery[] = []
  for (const { name, alternativeNames, enabled, pastData, pastAfterHours } of destinations) {
    if (!enabled) continue
    let skip: SkipReason | undefined
    if (source.destinations !== undefined && !source.destinations.includes(name)) skip = 'not_enabled'
    else if (!isSwitchedOn(message.integrations, [name, ...alternativeNames])) skip = 'integrations'
    else if (!pastData && receivedAtMs - message.timestampMs > pastAfterHours * HOUR_MS) skip = 'past_data'
    planned.push(skip === undefined ? { destination: name } : { destination: name, skippedBecause: skip })
  }
  return planned
}
