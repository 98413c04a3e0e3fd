import { hrefWith, route } from '../lib/router.ts'
import { Choice } from './basics.tsx'

/** The first element of each range is the value of `from` in the API. For `all`, the parameter is left out. */
const RANGES = [
  ['-5m', '5 min'],
  ['-1h', '1 hour'],
  ['-24h', '24 hours'],
  ['-7d', '7 days'],
  ['all', 'all'],
] as const

/** `undefined` means all time. */
export function chosenFrom(otherwise: string): string | undefined {
  const value = route.value.params.get('since') ?? otherwise
  return value === 'all' ? undefined : value
}

/** The choice is stored in the address. */
export function TimeRange({ otherwise }: { otherwise: string }) {
  const now = route.value.params.get('since') ?? otherwise
  return (
    <Choice
      label="Time"
      options={RANGES.map(([value, text]) => [
        text,
        hrefWith({ since: value === otherwise ? undefined : value }),
        value === now,
      ])}
    />
  )
}
