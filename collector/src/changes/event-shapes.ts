import { isNamed, keyOf } from '../event-key.ts'
import type { Message } from '../record.ts'
import { eachField, type Field, type Origin, originOf } from './shape.ts'

/** An accepted event, as the index reads it. */
export interface ShapedEvent {
  seq: number
  receivedAtMs: number
  kind: string
  name: string | null
  source: string
  user: string | null
  message: Message
}

/** What many events have in common: their name, where they come from, and their properties with types. */
export interface Shape {
  kind: string
  name: string
  origin: Origin
  fields: readonly Field[]
}

/** The events of one side of a comparison: how many of each shape, and the newest of each. */
export interface Side {
  events: number
  users: number
  shapes: Array<{ shape: Shape; count: number; newest: number }>
  firstMs: number
  lastMs: number
}

/** Which events belong to a side; `fromMs` is included, `toMs` is not. */
export interface SideOptions {
  fromMs?: number | undefined
  toMs?: number | undefined
  version?: string | undefined
}

export interface Version {
  version: string
  events: number
  firstMs: number
  lastMs: number
}

/** Properties of one event name; more are left out, as objects whose keys are ids have any number of them. */
const MAX_FIELDS = 500
/** From so many shapes on, events count without their properties. */
const MAX_SHAPES = 50_000

/**
 * The shapes of all events, as numbers: a comparison of 100,000 events reads arrays of numbers instead of 60 MB of JSON. It
 * costs 32 bytes an event, and one look at each message.
 */
export class EventShapes {
  readonly #seqs: number[] = []
  readonly #times: number[] = []
  readonly #shapeOf: number[] = []
  readonly #users: number[] = []
  readonly #shapes: Shape[] = []
  readonly #idOf = new Map<string, number>()
  readonly #origins = new Map<string, Origin>()
  readonly #fieldIds = new Map<string, Map<string, number>>()
  readonly #fields: Field[] = []
  #isWhole = true

  get size(): number {
    return this.#seqs.length
  }

  /** Whether the properties of every event are known. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** The number of the newest event; 0 if there is none. */
  get lastSeq(): number {
    return this.#seqs.at(-1) ?? 0
  }

  /** Events have to be added in the order of their numbers. */
  add(event: ShapedEvent): void {
    this.#seqs.push(event.seq)
    this.#times.push(event.receivedAtMs)
    this.#users.push(event.user === null ? 0 : hash(event.user))
    this.#shapeOf.push(this.#shapeIdOf(event))
  }

  #shapeIdOf({ kind, name, source, message }: ShapedEvent): number {
    const key = keyOf(kind, name)
    const origin = originOf(message, source)
    const originKey = JSON.stringify(origin)
    const known = this.#origins.get(originKey) ?? origin
    this.#origins.set(originKey, known)
    const bareKey = `${key}\n${originKey}`
    const bare = this.#idOf.get(bareKey) ?? this.#newShape(bareKey, shapeWith(kind, name, known, []))
    if (this.#shapes.length >= MAX_SHAPES) {
      this.#isWhole = false
      return bare
    }
    const own = this.#fieldIds.get(key) ?? new Map<string, number>()
    this.#fieldIds.set(key, own)
    const found = new Set<number>()
    eachField(kind, message, (path, type, parent) => {
      const fieldKey = `${path}\n${type}`
      let id = own.get(fieldKey)
      if (id === undefined) {
        if (own.size >= MAX_FIELDS) {
          this.#isWhole = false
          return
        }
        id = this.#fields.push({ path, type, parent }) - 1
        own.set(fieldKey, id)
      }
      found.add(id)
    })
    if (found.size === 0) return bare
    const sorted = [...found].sort((a, b) => a - b)
    const shapeKey = `${bare}:${sorted.join(' ')}`
    const fields = () => sorted.map((id) => this.#fields[id] as Field)
    return this.#idOf.get(shapeKey) ?? this.#newShape(shapeKey, shapeWith(kind, name, known, fields()))
  }

  #newShape(key: string, shape: Shape): number {
    const id = this.#shapes.push(shape) - 1
    this.#idOf.set(key, id)
    return id
  }

  /** Forgets all events whose numbers are not among these, which have to be in order. */
  keep(seqs: Iterable<number>): void {
    const columns = [this.#seqs, this.#times, this.#users, this.#shapeOf]
    let to = 0
    let from = 0
    for (const seq of seqs) {
      while ((this.#seqs[from] ?? Number.POSITIVE_INFINITY) < seq) from++
      if (this.#seqs[from] !== seq) continue
      for (const column of columns) column[to] = column[from] as number
      to++
      from++
    }
    for (const column of columns) column.length = to
  }

  side({ fromMs = 0, toMs = Number.POSITIVE_INFINITY, version }: SideOptions): Side {
    const isWanted =
      version === undefined ? undefined : this.#shapes.map(({ origin }) => origin.version === version)
    const counts = new Int32Array(this.#shapes.length)
    const newest = new Float64Array(this.#shapes.length)
    const users = new Set<number>()
    let [events, firstMs, lastMs] = [0, Number.POSITIVE_INFINITY, 0]
    for (let i = 0; i < this.#seqs.length; i++) {
      const time = this.#times[i] as number
      const id = this.#shapeOf[i] as number
      if (time < fromMs || time >= toMs || isWanted?.[id] === false) continue
      events++
      counts[id] = (counts[id] as number) + 1
      newest[id] = this.#seqs[i] as number
      users.add(this.#users[i] as number)
      if (time < firstMs) firstMs = time
      if (time > lastMs) lastMs = time
    }
    users.delete(0)
    const shapes = this.#shapes.flatMap((shape, id) =>
      counts[id] === 0 ? [] : [{ shape, count: counts[id] as number, newest: newest[id] as number }],
    )
    return { events, users: users.size, shapes, firstMs, lastMs }
  }

  /** The values of `context.app.version`, the one that began last first. */
  versions(): Version[] {
    const found = new Map<string, Version>()
    for (let i = 0; i < this.#seqs.length; i++) {
      const version = this.#shapes[this.#shapeOf[i] as number]?.origin.version ?? ''
      if (version === '') continue
      const time = this.#times[i] as number
      const one = found.get(version)
      if (one === undefined) found.set(version, { version, events: 1, firstMs: time, lastMs: time })
      else {
        one.events++
        one.lastMs = Math.max(one.lastMs, time)
      }
    }
    return [...found.values()].sort((a, b) => b.firstMs - a.firstMs)
  }
}

function shapeWith(kind: string, name: string | null, origin: Origin, fields: readonly Field[]): Shape {
  // The groupId of a group is no name.
  return { kind, name: isNamed(kind) ? (name ?? '') : '', origin, fields }
}

/** FNV-1a. Two users with the same hash count as one, which happens to one in 40,000 of 100,000. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value | 0
}
