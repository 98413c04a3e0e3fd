import type { Side } from './event-shapes.ts'
import type { Origin, ValueType } from './shape.ts'
import { byName, byOrigin, type Count, type NameTally, type PathTally, roomFor, tallyOf } from './tally.ts'

/** `check`: probably a mistake. `new`: there was none of it before. `open`: has not come yet, but too little came to tell. */
export type Grade = 'check' | 'new' | 'open'

/** What an event name or a property is on one side. */
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

/** One difference between two sides. */
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

interface Pair {
  before: Side['shapes']
  after: Side['shapes']
}

/** Returns what differs, the most important first. */
export function differencesOf(before: Side, after: Side): Difference[] {
  const old = byName(before.shapes)
  const young = byName(after.shapes)
  const pairs = [...old].flatMap(([key, shapes]): Pair[] => {
    const now = young.get(key)
    return now === undefined ? [] : [{ before: shapes, after: now }]
  })
  const usual = usualFactor(before, after, pairs)
  const found = pairs.flatMap((pair) => [...volumeOf(pair, usual), ...propertiesOf(pair)])
  const gone = [...old].flatMap(([key, shapes]) => (young.has(key) ? [] : [shapes]))
  const fresh = [...young].flatMap(([key, shapes]) => (old.has(key) ? [] : [shapes]))
  const { renamed, pairs: same } = renamedOf(gone, fresh)
  found.push(...renamed, ...same.flatMap(propertiesOf))
  const isPaired = (shapes: Side['shapes']) =>
    same.some((pair) => pair.before === shapes || pair.after === shapes)
  for (const shapes of gone) if (!isPaired(shapes)) found.push(goneOf(tallyOf(shapes), usual))
  for (const shapes of fresh) if (!isPaired(shapes)) found.push(newOf(tallyOf(shapes)))
  return found.sort(
    (a, b) =>
      GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade) ||
      ORDER.indexOf(a.what) - ORDER.indexOf(b.what) ||
      weightOf(b) - weightOf(a),
  )
}

function weightOf({ before, after }: Difference): number {
  return before.count + after.count
}

/**
 * How many events come after for each one before, if nothing has changed: the median of the event names. So one name that
 * doubles makes no other name look odd, and neither do many more visitors. Of two names in the middle, the one counts that is
 * nearer to the change in the number of users.
 */
function usualFactor(before: Side, after: Side, pairs: readonly Pair[]): number {
  const factors = pairs.flatMap((pair) => {
    const [b, a] = [countOf(pair.before), countOf(pair.after)]
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

function countOf(shapes: Side['shapes']): number {
  return shapes.reduce((sum, { count }) => sum + count, 0)
}

function whole({ count, newest }: Count): Seen {
  return { count, newest, of: count }
}

const NONE: Seen = { count: 0, newest: 0, of: 0 }

function goneOf(before: NameTally, usual: number): Difference {
  const isMissed = before.count * usual >= ENOUGH_TO_MISS
  const { kind, name } = before
  return {
    what: 'event_gone',
    grade: isMissed ? 'check' : 'open',
    kind,
    name,
    before: whole(before),
    after: NONE,
  }
}

function newOf(after: NameTally): Difference {
  const { kind, name } = after
  return { what: 'event_new', grade: 'new', kind, name, before: NONE, after: whole(after) }
}

function volumeOf(pair: Pair, usual: number): Difference[] {
  const [before, after] = [tallyOf(pair.before), tallyOf(pair.after)]
  const expected = before.count * usual
  const factor = after.count / expected
  const deviations = Math.abs(after.count - expected) / Math.sqrt(usual * usual * before.count + after.count)
  if (factor < VOLUME_FACTOR && factor > 1 / VOLUME_FACTOR) return []
  if (deviations < VOLUME_DEVIATIONS) return []
  const { kind, name } = after
  return [
    { what: 'volume', grade: 'check', kind, name, expected, before: whole(before), after: whole(after) },
  ]
}

/** Finds names that are gone beside new ones with the same properties. Each is used once, the most alike first. */
function renamedOf(
  gone: ReadonlyArray<Side['shapes']>,
  fresh: ReadonlyArray<Side['shapes']>,
): { renamed: Difference[]; pairs: Pair[] } {
  const candidates = gone.flatMap((before) =>
    fresh.map((after) => ({ before, after, likeness: likeness(tallyOf(before), tallyOf(after)) })),
  )
  const pairs: Pair[] = []
  for (const { before, after, likeness } of candidates.sort((a, b) => b.likeness - a.likeness)) {
    if (likeness < SAME_PROPERTIES) break
    if (!pairs.some((pair) => pair.before === before || pair.after === after)) pairs.push({ before, after })
  }
  const renamed = pairs.map((pair): Difference => {
    const [before, after] = [tallyOf(pair.before), tallyOf(pair.after)]
    const { kind, name } = before
    const seen = { before: whole(before), after: whole(after) }
    return { what: 'event_renamed', grade: 'check', kind, name, newName: after.name, ...seen }
  })
  return { renamed, pairs }
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

function propertiesOf(pair: Pair): Difference[] {
  const [before, after] = [tallyOf(pair.before), tallyOf(pair.after)]
  const found: Difference[] = []
  for (const path of new Set([...before.paths.keys(), ...after.paths.keys()])) {
    const [was, is] = [before.paths.get(path), after.paths.get(path)]
    const parent = (was ?? is)?.parent ?? ''
    const seen = {
      kind: after.kind,
      name: after.name,
      path,
      before: { count: was?.count ?? 0, newest: was?.newest ?? 0, of: roomFor(before, parent) },
      after: { count: is?.count ?? 0, newest: is?.newest ?? 0, of: roomFor(after, parent) },
    }
    // Without the object around it, it can be neither there nor missing.
    if (seen.before.of === 0 || seen.after.of === 0) continue
    if (was === undefined) found.push({ what: 'property_new', grade: 'new', ...seen })
    else {
      if (is !== undefined) found.push(...typesOf(was, is, seen))
      // An empty list has no elements.
      if (!path.endsWith('[]')) found.push(...presenceOf(pair, seen, parent))
    }
  }
  return found
}

type SeenProperty = Omit<OfProperty, 'what' | 'grade'>

function typesOf(was: PathTally, is: PathTally, seen: SeenProperty): Difference[] {
  const from = [...was.types].sort(([, a], [, b]) => b.count - a.count).map(([type]) => type)
  return [...is.types].flatMap(([to, { count, newest }]): Difference[] => {
    const before = was.types.get(to)?.count ?? 0
    if (!isMore(before, was.count, count, is.count)) return []
    const others = from.filter((type) => type !== to)
    return [
      {
        ...seen,
        what: 'type_changed',
        grade: 'check',
        from: others,
        to,
        before: { count: before, of: was.count, newest: newestOf(was, others) },
        after: { count, of: is.count, newest },
      },
    ]
  })
}

function newestOf({ types }: PathTally, wanted: readonly ValueType[]): number {
  return Math.max(0, ...wanted.map((type) => types.get(type)?.newest ?? 0))
}

/** Whether a type has come up that was not there, or has become much more frequent. */
function isMore(b: number, ofB: number, a: number, ofA: number): boolean {
  if (b === 0) return a > 0
  return a / ofA > b / ofB && deviationsOf(b, ofB, a, ofA) >= SHARE_DEVIATIONS && a / ofA - b / ofB > 0.2
}

/** How far two shares are apart, in standard deviations. */
function deviationsOf(b: number, ofB: number, a: number, ofA: number): number {
  const both = (b + a) / (ofB + ofA)
  const spread = Math.sqrt(both * (1 - both) * (1 / ofB + 1 / ofA))
  return spread === 0 ? 0 : Math.abs(b / ofB - a / ofA) / spread
}

/** Whether what was in `b` of `ofB` events is missing in all of `ofA` events, and hardly by chance. */
function isGone(b: number, ofB: number, a: number, ofA: number): boolean {
  return b > 0 && a === 0 && ofA > 0 && (1 - (b + 0.5) / (ofB + 1)) ** ofA < CHANCE
}

function presenceOf(pair: Pair, seen: SeenProperty, parent: string): Difference[] {
  const { before, after, path } = seen
  if (isGone(before.count, before.of, after.count, after.of)) {
    return [{ what: 'property_gone', grade: 'check', where: null, ...seen }]
  }
  if (after.count === 0) return []
  for (const dimension of DIMENSIONS) {
    const origins = originsOf(pair, dimension, path, parent)
    const gone = origins.filter(({ b, ofB, a, ofA }) => isGone(b, ofB, a, ofA))
    const kept = origins.filter(
      ({ b, ofB, a, ofA }) => a > 0 && a / ofA >= (RARER_SHARE * b) / Math.max(1, ofB),
    )
    if (gone.length === 0 || kept.length === 0) continue
    const where = { dimension, gone: gone.map(({ value }) => value), kept: kept.map(({ value }) => value) }
    const sum = (pick: (one: Presence) => number) => gone.reduce((total, one) => total + pick(one), 0)
    return [
      {
        ...seen,
        what: 'property_gone',
        grade: 'check',
        where,
        before: { count: sum(({ b }) => b), of: sum(({ ofB }) => ofB), newest: newestIn(gone, 'before') },
        after: { count: 0, of: sum(({ ofA }) => ofA), newest: newestIn(gone, 'after') },
      },
    ]
  }
  const isRarer =
    after.count / after.of < (RARER_SHARE * before.count) / before.of &&
    deviationsOf(before.count, before.of, after.count, after.of) >= SHARE_DEVIATIONS
  if (!isRarer || isMixed(pair, path, parent)) return []
  return [{ what: 'property_rarer', grade: 'check', ...seen }]
}

interface Presence {
  value: string
  b: number
  ofB: number
  a: number
  ofA: number
  newest: { before: number; after: number }
}

function newestIn(origins: readonly Presence[], side: 'before' | 'after'): number {
  return Math.max(0, ...origins.map(({ newest }) => newest[side]))
}

function originsOf(pair: Pair, dimension: keyof Origin, path: string, parent: string): Presence[] {
  const [old, young] = [byOrigin(pair.before, dimension), byOrigin(pair.after, dimension)]
  return [...young].flatMap(([value, after]): Presence[] => {
    const before = old.get(value)
    if (before === undefined) return []
    const was = before.paths.get(path)
    return [
      {
        value,
        b: was?.count ?? 0,
        ofB: roomFor(before, parent),
        a: after.paths.get(path)?.count ?? 0,
        ofA: roomFor(after, parent),
        // Of the events without it: an example of what is missing.
        newest: { before: was?.newest ?? 0, after: after.newest },
      },
    ]
  })
}

/** Whether each origin sends it as often as before, and only their shares have changed. */
function isMixed(pair: Pair, path: string, parent: string): boolean {
  return DIMENSIONS.some((dimension) => {
    const origins = originsOf(pair, dimension, path, parent)
    return (
      origins.length > 1 &&
      origins.every(({ b, ofB, a, ofA }) => a / ofA >= (RARER_SHARE * b) / Math.max(1, ofB))
    )
  })
}
