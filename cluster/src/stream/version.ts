/**
 * Older servers may delete events at their next start that a destination still needs, if this destination has not acknowledged
 * any event yet: 2.9.10 did in most attempts, 2.10.27 and 2.15.1 in none.
 */
export const OLDEST_SERVER = '2.10.27'

export function isTooOld(version: string): boolean {
  return version.localeCompare(OLDEST_SERVER, 'en', { numeric: true }) < 0
}
