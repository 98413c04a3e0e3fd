import type { Difference, Seen, Where } from './compare.ts'
import type { ValueType } from './shape.ts'

const TYPES: Readonly<Record<ValueType, string>> = {
  text: 'a text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
  null: 'null',
}

/** Says in one sentence what has changed. */
export function sentenceOf(one: Difference): string {
  const event = titleOf(one.kind, one.name)
  switch (one.what) {
    case 'event_renamed':
      return `${event} is gone, and ${titleOf(one.kind, one.newName)} has come with the same properties: it looks renamed.`
    case 'event_gone':
      return one.grade === 'open'
        ? `${event} has not come yet; before, it came ${times(one.before.count)}.`
        : `${event} is gone: before, it came ${times(one.before.count)}.`
    case 'event_new':
      return `${event} is new: it came ${times(one.after.count)}.`
    case 'volume':
      return `${event} comes ${factorOf(one.after.count / one.expected)}: ${times(one.after.count)}, where about ${whole(one.expected)} would be usual.`
    case 'type_changed':
      return `${propertyOf(one.path)} of ${event} is ${typeInWords(one)}.`
    case 'property_gone':
      return one.where === null
        ? `${propertyOf(one.path)} of ${event} is gone; it was in ${share(one.before)} of the events.`
        : `${propertyOf(one.path)} of ${event} is gone ${placeOf(one.where)}.`
    case 'property_rarer':
      return `${propertyOf(one.path)} of ${event} is only in ${share(one.after)} of the events; before, it was in ${share(one.before)}.`
    case 'property_new':
      return `${propertyOf(one.path)} of ${event} is new: it is in ${share(one.after)} of the events.`
  }
}

function titleOf(kind: string, name: string): string {
  if (name === '') return kind
  return kind === 'track' ? `“${name}”` : `the ${kind} “${name}”`
}

function propertyOf(path: string): string {
  return `“${path.replace(/^(?:properties|traits)\./, '')}”`
}

function typeInWords({ from, to, before, after }: Difference & { what: 'type_changed' }): string {
  const now = `${TYPES[to]}${after.count < after.of ? ` in ${share(after)} of the events` : ''}`
  if (before.count > 0) return `more often ${now}; before, in ${share(before)}`
  return `now ${now}; before, it was ${from.map((type) => TYPES[type]).join(' or ')}`
}

const PLACES: Readonly<Record<Where['dimension'], string>> = {
  os: 'on',
  device: 'on',
  library: 'in events of',
  source: 'in events of',
  version: 'in version',
}

function placeOf({ dimension, gone, kept }: Where): string {
  const named = (values: readonly string[]) => values.map((value) => value || 'unknown').join(', ')
  return `${PLACES[dimension]} ${named(gone)}; ${PLACES[dimension]} ${named(kept)}, it is still there`
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${whole(count)} times`
}

function factorOf(factor: number): string {
  if (factor >= 1.8 && factor < 2.2) return 'twice as often as usual'
  if (factor > 0.45 && factor < 0.55) return 'half as often as usual'
  return factor > 1
    ? `${tenths(factor)} times as often as usual`
    : `only ${share({ count: factor, of: 1 })} as often as usual`
}

function tenths(value: number): string {
  return value >= 10 ? whole(value) : value.toFixed(1)
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** A share is 100% or 0% only if it is exact. */
function share({ count, of }: Pick<Seen, 'count' | 'of'>): string {
  const percent = (100 * count) / of
  if (percent > 99 && count < of) return 'more than 99%'
  if (percent < 1 && count > 0) return 'less than 1%'
  return `${Math.round(percent)}%`
}
