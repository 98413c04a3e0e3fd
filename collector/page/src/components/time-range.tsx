import { hrefWith, route } from '../lib/router.ts'

/** The first element of each range is the value of `from` in the API. For `all`, the parameter is left out. */
const RANGES = [
  ['-5m', '5 min'],
  ['-1h', '1 hour'],
  ['-24h', '24 hours'],
  ['-7d', '7 days'],
  ['all', 'all'],
] as const

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The length in milliseconds of a range such as `-24h`. */
export function lengthOf(from: string): number {
  return Number(from.slice(1, -1)) * (UNITS_MS[from.slice(-1)] ?? 1000)
}

const DEFAULT = '-1h'

/** `undefined` means all time. */
export function chosenFrom(otherwise: string = DEFAULT): string | undefined {
  const value = route.value.params.get('since') ?? otherwise
  return value === 'all' ? undefined : value
}

/** The choice is stored in the address. */
export function TimeRange({ otherwise = DEFAULT }: { otherwise?: string }) {
  const now = route.value.params.get('since') ?? otherwise
  return (
    <nav class="choice" aria-label="Time">
      {RANGES.map(([value, text]) => (
        <a
          key={value}
          href={hrefWith({ since: value === otherwise ? undefined : value })}
          {...(value === now ? { 'aria-current': 'true' as const } : {})}
        >
          {text}
        </a>
      ))}
    </nav>
  )
}
