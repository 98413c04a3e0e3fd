import type { Shape, Side } from './event-shapes.ts'
import type { Origin, ValueType } from './shape.ts'

/** How many events have something, and the number of the newest of them. */
export interface Count {
  count: number
  newest: number
}

export interface PathTally extends Count {
  parent: string
  types: Map<ValueType, Count>
}

/** The events of one name on one side. */
export interface NameTally extends Count {
  kind: string
  name: string
  paths: Map<string, PathTally>
}

type Shapes = Side['shapes']

function grouped(shapes: Shapes, keyOf: (shape: Shape) => string): Map<string, Shapes> {
  const found = new Map<string, Shapes>()
  for (const one of shapes) {
    const key = keyOf(one.shape)
    const list = found.get(key)
    if (list === undefined) found.set(key, [one])
    else list.push(one)
  }
  return found
}

export function byName(shapes: Shapes): Map<string, Shapes> {
  return grouped(shapes, ({ kind, name }) => `${kind}\n${name}`)
}

/** @param shapes Of one name. */
export function tallyOf(shapes: Shapes): NameTally {
  const [first] = shapes
  const tally: NameTally = {
    kind: first?.shape.kind ?? '',
    name: first?.shape.name ?? '',
    count: 0,
    newest: 0,
    paths: new Map(),
  }
  for (const { shape, count, newest } of shapes) {
    add(tally, count, newest)
    addFields(tally.paths, shape, count, newest)
  }
  return tally
}

function addFields(paths: Map<string, PathTally>, { fields }: Shape, count: number, newest: number): void {
  // A path that has two types in one event, as in a list, still is in one event.
  const seen = new Set<string>()
  for (const { path, type, parent } of fields) {
    let own = paths.get(path)
    if (own === undefined) {
      own = { count: 0, newest: 0, parent, types: new Map() }
      paths.set(path, own)
    }
    if (!seen.has(path)) add(own, count, newest)
    seen.add(path)
    const ofType = own.types.get(type) ?? { count: 0, newest: 0 }
    add(ofType, count, newest)
    own.types.set(type, ofType)
  }
}

function add(to: Count, count: number, newest: number): void {
  to.count += count
  to.newest = Math.max(to.newest, newest)
}

export function byOrigin(shapes: Shapes, dimension: keyof Origin): Map<string, NameTally> {
  const groups = grouped(shapes, ({ origin }) => origin[dimension])
  return new Map([...groups].map(([value, list]) => [value, tallyOf(list)]))
}

/** How many events could have this path: those that have the object or list that it is in. */
export function roomFor(tally: NameTally, parent: string): number {
  if (parent === '') return tally.count
  const { types } = tally.paths.get(parent) ?? {}
  return (types?.get('object')?.count ?? 0) + (types?.get('list')?.count ?? 0)
}
