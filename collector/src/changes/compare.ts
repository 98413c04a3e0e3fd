import type { Side } from './event-shapes.ts'
import type { Origin, ValueType } from './shape.ts'
import { byName, byOrigin, type Count, type NameTally, type PathTally, roomFor, tallyOf } from './tally.ts'

/** `check`: probably a mistake. `new`: there was none of it before. `open`: has not come yet, but too little came to tell. */
export type Grade = 'check' | 'new' | 'open'

export interface Seen extends Count {
  /** The events that could have had it. */
  of: number
}

interface OfEvent {
  kind: string
  name: string
  before: Seen
  after: Seen
}

interface OfProperty extends OfEvent {
  path: string
}

export type Difference =
  | ({ what: 'event_renamed'; grade: 'check'; newName: string } & OfEvent)
  | ({ what: 'event_gone'; grade: 'check' | 'open' } & OfEvent)
  | ({ what: 'event_new'; grade: 'new' } & OfEvent)
  /** `expected` is the number of events that would be usual. */
  | ({ what: 'volume'; grade: 'check'; expected: number } & OfEvent)
  | ({ what: 'type_changed'; grade: 'check'; from: ValueType[]; to: ValueType } & OfProperty)
  | ({ what: 'property_gone'; grade: 'check'; where: Where | null } & OfProperty)
  | ({ what: 'property_rarer'; grade: 'check' } & OfProperty)
  | ({ what: 'property_new'; grade: 'new' } & OfProperty)

/** A property is gone from the events of some origins, and still is in those of others. */
export interface Where {
  dimension: keyof Origin
  gone: string[]
  kept: string[]
}

/** Names with fewer events than this on a side do not tell what is usual. */
const ENOUGH_TO_COMPARE = 10
/** So many events of a name have to be missing before that is a mistake and not chance. */
const ENOUGH_TO_MISS = 5
/** A volume has changed from this factor on, up or down. */
const VOLUME_FACTOR = 1.5
/** In standard deviations: beyond them, it is hardly chance. */
const VOLUME_DEVIATIONS = 3
const SHARE_DEVIATIONS = 4
/** A property is rarer if it is in less than this share of the events that had it. */
const RARER_SHARE = 0.7
/** How likely it may be that a property is missing by chance. */
const CHANCE = 0.1
/** Two events with so many properties in common are probably one event that was renamed. */
const SAME_PROPERTIES = 0.7

const ORDER: ReadonlyArray<Difference['what']> = [
  'event_renamed',
  'event_gone',
  'type_changed',
  'property_gone',
  'volume',
  'property_rarer',
  'event_new',
  'property_new',
]
const GRADES: readonly Grade[] = ['check', 'new', 'open']
const DIMENSIONS: ReadonlyArray<keyof Origin> = ['os', 'device', 'library', 'source']

/** The events of one name on one side. */
interface Named {
  shapes: Side['shapes']
  tally: NameTally
}

interface Pair {
  before: Named
  after: Named
}

/** Returns what differs, the most important first. */
export function differencesOf(before: Side, after: Side): Difference[] {
  const [old, young] = [namesOf(before), namesOf(after)]
  const pairs = [...old].flatMap(([key, was]): Pair[] => {
    const is = young.get(key)
    return is === undefined ? [] : [{ before: was, after: is }]
  })
  const usual = usualFactor(before, after, pairs)
  const gone = [...old].filter(([key]) => !young.has(key)).map(([, one]) => one)
  const fresh = [...young].filter(([key]) => !old.has(key)).map(([, one]) => one)
  const renamed = renamedOf(gone, fresh)
  const isLeft = (one: Named) => !renamed.some((pair) => pair.before === one || pair.after === one)
  const found: Difference[] = [
    ...pairs.flatMap((pair) => volumeOf(pair, usual)),
    ...[...pairs, ...renamed].flatMap(propertiesOf),
    ...renamed.map(({ before, after }): Difference => {
      const newName = after.tally.name
      return { what: 'event_renamed', grade: 'check', newName, ...eventOf(before, after) }
    }),
    ...gone.filter(isLeft).map((one): Difference => {
      const grade = one.tally.count * usual >= ENOUGH_TO_MISS ? 'check' : 'open'
      return { what: 'event_gone', grade, ...eventOf(one, undefined) }
    }),
    ...fresh.filter(isLeft).map((one): Difference => {
      return { what: 'event_new', grade: 'new', ...eventOf(undefined, one) }
    }),
  ]
  return found.sort(
    (a, b) =>
      GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade) ||
      ORDER.indexOf(a.what) - ORDER.indexOf(b.what) ||
      b.before.count + b.after.count - (a.before.count + a.after.count),
  )
}

function namesOf({ shapes }: Side): Map<string, Named> {
  return new Map([...byName(shapes)].map(([key, own]) => [key, { shapes: own, tally: tallyOf(own) }]))
}

function eventOf(before: Named | undefined, after: Named | undefined): OfEvent {
  const { kind, name } = ((before ?? after) as Named).tally
  return { kind, name, before: whole(before), after: whole(after) }
}

function whole(named: Named | undefined): Seen {
  const { count, newest } = named?.tally ?? { count: 0, newest: 0 }
  return { count, newest, of: count }
}

/**
 * How many events come after for each one before, if nothing has changed: the median of the event names. So one name that
 * doubles makes no other name look odd, and neither do many more visitors. Of two names in the middle, the one counts that is
 * nearer to the change in the number of users.
 */
function usualFactor(before: Side, after: Side, pairs: readonly Pair[]): number {
  const factors = pairs.flatMap((pair) => {
    const [b, a] = [pair.before.tally.count, pair.after.tally.count]
    return b >= ENOUGH_TO_COMPARE && a >= ENOUGH_TO_COMPARE ? [a / b] : []
  })
  if (factors.length === 0) return after.events / before.events
  factors.sort((a, b) => a - b)
  const low = factors[Math.floor((factors.length - 1) / 2)] as number
  const high = factors[Math.floor(factors.length / 2)] as number
  const ofUsers = Math.max(1, after.users) / Math.max(1, before.users)
  const distance = (factor: number) => Math.abs(Math.log(factor / ofUsers))
  return distance(low) <= distance(high) ? low : high
}

function volumeOf({ before, after }: Pair, usual: number): Difference[] {
  const [b, a] = [before.tally.count, after.tally.count]
  const expected = b * usual
  const factor = a / expected
  const deviations = Math.abs(a - expected) / Math.sqrt(usual * usual * b + a)
  if (factor < VOLUME_FACTOR && factor > 1 / VOLUME_FACTOR) return []
  if (deviations < VOLUME_DEVIATIONS) return []
  return [{ what: 'volume', grade: 'check', expected, ...eventOf(before, after) }]
}

/** Finds names that are gone beside new ones with the same properties. Each is used once, the most alike first. */
function renamedOf(gone: readonly Named[], fresh: readonly Named[]): Pair[] {
  const candidates = gone.flatMap((before) =>
    fresh.map((after) => ({ before, after, likeness: likeness(before.tally, after.tally) })),
  )
  const pairs: Pair[] = []
  for (const { before, after, likeness } of candidates.sort((a, b) => b.likeness - a.likeness)) {
    if (likeness < SAME_PROPERTIES) break
    if (!pairs.some((pair) => pair.before === before || pair.after === after)) pairs.push({ before, after })
  }
  return pairs
}

/** The share of common paths among all paths of both, each with the weight of how often it is there. */
function likeness(before: NameTally, after: NameTally): number {
  if (before.kind !== after.kind) return 0
  let [common, all] = [0, 0]
  for (const path of new Set([...before.paths.keys(), ...after.paths.keys()])) {
    const b = (before.paths.get(path)?.count ?? 0) / before.count
    const a = (after.paths.get(path)?.count ?? 0) / after.count
    common += Math.min(a, b)
    all += Math.max(a, b)
  }
  return all === 0 ? 0 : common / all
}

type SeenProperty = Omit<OfProperty, 'what' | 'grade'>

function propertiesOf(pair: Pair): Difference[] {
  const [before, after] = [pair.before.tally, pair.after.tally]
  return [...new Set([...before.paths.keys(), ...after.paths.keys()])].flatMap((path): Difference[] => {
    const [was, is] = [before.paths.get(path), after.paths.get(path)]
    const parent = (was ?? is)?.parent ?? ''
    const { kind, name } = after
    const sides = { before: seenAt(before, path, parent), after: seenAt(after, path, parent) }
    const seen = { kind, name, path, ...sides }
    // Without the object around it, it can be neither there nor missing.
    if (seen.before.of === 0 || seen.after.of === 0) return []
    if (was === undefined) return [{ what: 'property_new', grade: 'new', ...seen }]
    // An empty list has no elements.
    const presence = path.endsWith('[]') ? [] : presenceOf(pair, seen, parent)
    return is === undefined ? presence : [...typesOf(was, is, seen), ...presence]
  })
}

function seenAt(tally: NameTally, path: string, parent: string): Seen {
  const { count, newest } = tally.paths.get(path) ?? { count: 0, newest: 0 }
  return { count, newest, of: roomFor(tally, parent) }
}

function typesOf(was: PathTally, is: PathTally, seen: SeenProperty): Difference[] {
  const from = [...was.types].sort(([, a], [, b]) => b.count - a.count).map(([type]) => type)
  return [...is.types].flatMap(([to, { count, newest }]): Difference[] => {
    const others = from.filter((type) => type !== to)
    const newestOther = Math.max(0, ...others.map((type) => was.types.get(type)?.newest ?? 0))
    const before = { count: was.types.get(to)?.count ?? 0, of: was.count, newest: newestOther }
    const after = { count, of: is.count, newest }
    if (!isMore(before, after)) return []
    return [{ ...seen, what: 'type_changed', grade: 'check', from: others, to, before, after }]
  })
}

function shareOf({ count, of }: Seen): number {
  return count / Math.max(1, of)
}

/** Whether a type has come up that was not there, or has become much more frequent. */
function isMore(before: Seen, after: Seen): boolean {
  if (before.count === 0) return after.count > 0
  return shareOf(after) - shareOf(before) > 0.2 && deviationsOf(before, after) >= SHARE_DEVIATIONS
}

/** How far two shares are apart, in standard deviations. */
function deviationsOf(before: Seen, after: Seen): number {
  const both = (before.count + after.count) / (before.of + after.of)
  const spread = Math.sqrt(both * (1 - both) * (1 / before.of + 1 / after.of))
  return spread === 0 ? 0 : Math.abs(shareOf(before) - shareOf(after)) / spread
}

/** Whether what was there before is missing in all events after, and hardly by chance. */
function isGone({ before, after }: { before: Seen; after: Seen }): boolean {
  if (before.count === 0 || after.count > 0 || after.of === 0) return false
  return (1 - (before.count + 0.5) / (before.of + 1)) ** after.of < CHANCE
}

function isAsUsual({ before, after }: { before: Seen; after: Seen }): boolean {
  return shareOf(after) >= RARER_SHARE * shareOf(before)
}

function presenceOf(pair: Pair, seen: SeenProperty, parent: string): Difference[] {
  const { before, after, path } = seen
  if (isGone(seen)) return [{ what: 'property_gone', grade: 'check', where: null, ...seen }]
  if (after.count === 0) return []
  const origins = DIMENSIONS.map((dimension) => ({
    dimension,
    all: originsOf(pair, dimension, path, parent),
  }))
  for (const { dimension, all } of origins) {
    const gone = all.filter(isGone)
    const kept = all.filter((one) => one.after.count > 0 && isAsUsual(one))
    if (gone.length === 0 || kept.length === 0) continue
    const where = { dimension, gone: gone.map(({ value }) => value), kept: kept.map(({ value }) => value) }
    const sides = {
      before: together(gone.map((one) => one.before)),
      after: together(gone.map((one) => one.after)),
    }
    return [{ ...seen, what: 'property_gone', grade: 'check', where, ...sides }]
  }
  const isRarer = !isAsUsual(seen) && deviationsOf(before, after) >= SHARE_DEVIATIONS
  // Each origin may send it as often as before, and only their shares have changed.
  const isMixed = origins.some(({ all }) => all.length > 1 && all.every(isAsUsual))
  return isRarer && !isMixed ? [{ what: 'property_rarer', grade: 'check', ...seen }] : []
}

function together(all: readonly Seen[]): Seen {
  const sum = (pick: (one: Seen) => number) => all.reduce((total, one) => total + pick(one), 0)
  return {
    count: sum(({ count }) => count),
    of: sum(({ of }) => of),
    newest: Math.max(0, ...all.map(({ newest }) => newest)),
  }
}

/** How a property is in the events of each origin that has events on both sides. */
function originsOf(
  pair: Pair,
  dimension: keyof Origin,
  path: string,
  parent: string,
): Array<{ value: string; before: Seen; after: Seen }> {
  const old = byOrigin(pair.before.shapes, dimension)
  return [...byOrigin(pair.after.shapes, dimension)].flatMap(([value, is]) => {
    const was = old.get(value)
    if (was === undefined) return []
    // The example is one of the events without it: of what is missing.
    const after = { ...seenAt(is, path, parent), newest: is.newest }
    return [{ value, before: seenAt(was, path, parent), after }]
  })
}
