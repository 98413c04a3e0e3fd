import { hrefWith, route } from '../lib/router.ts'

/** The time ranges that the user can choose. The first element of each is the value of `from` in the API. */
export const RANGES = [
  ['-5m', '5 min'],
  ['-1h', '1 hour'],
  ['-24h', '24 hours'],
  ['-7d', '7 days'],
  ['all', 'all'],
] as const

const DEFAULT = '-1h'

/** Returns the chosen range as a parameter of the API; `undefined` for all time. */
export function chosenFrom(otherwise: string = DEFAULT): string | undefined {
  const value = route.value.params.get('since') ?? otherwise
  return value === 'all' ? undefined : value
}

/** Links for choosing a time range. The choice is stored in the address. */
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
