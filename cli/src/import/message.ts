import { dset } from 'dset'
import type { Kind } from 'trackpost'
import { UsageError } from '../errors.ts'
import { nearest, printable, quoted } from '../output/text.ts'
import { type Cast, cast, castTimestamp } from './cast.ts'
import { type Fields, isObject } from './json.ts'
import { isTarget, type Mapping, OBJECT_FIELDS, parseTarget } from './mapping.ts'
import type { Problem } from './record.ts'

export type MappedRecord =
  | { readonly kind: Kind; readonly params: Params; readonly messageId: string | undefined }
  | { readonly problem: Problem }

/** The argument of a tracking method. The client checks its fields. */
export type Params = Readonly<Record<string, unknown>>

export interface Mapper<Value> {
  map(value: Value): MappedRecord
  /** Columns that are not sent. */
  readonly unused: readonly string[]
  /** Returns the column or field of the input from which a field of the message comes. */
  columnOf(target: string): string
  /** Whether a field of the message has a column or a constant. */
  isMapped(target: string): boolean
}

/** The reason and the messageId of a refused line, in the rejects file. An import of that file keeps the messageId. */
export const NOTE_FIELD = '_trackpost'
/** The first columns of a rejects file, so that no cell too many or too few in a row can move them. */
export const NOTE_COLUMNS = ['_trackpost_reason', '_trackpost_message_id'] as const

const KINDS = new Set<unknown>(['identify', 'track', 'page', 'screen', 'group', 'alias'])
/** Fields that other libraries and services add to messages. They are not reported as unused: the client adds its own. */
const TRANSPORT_FIELDS = new Set(
  'sentAt receivedAt originalTimestamp writeKey channel version projectId _metadata'.split(' '),
)

interface Step {
  readonly target: string
  readonly cast: Cast | undefined
}

/**
 * Maps the rows of a CSV file. A column needs no mapping if its name is a field of a message or a path into one.
 *
 * @throws UsageError when a mapped column is missing in the header or occurs twice, or when the kind of message is not given.
 */
export function createRowMapper(header: readonly string[], mapping: Mapping): Mapper<readonly string[]> {
  const names = header.map((name) => name.trim())
  const steps = new Map<number, Step>()
  for (const { target, source, cast } of mapping.assignments) {
    const index = requireColumn(names, source, target)
    const other = steps.get(index)
    if (other !== undefined)
      throw new UsageError(`column ${quoted(source)} is mapped to ${other.target} and ${target}`)
    steps.set(index, { target, cast })
  }
  const taken = new Set(
    [...mapping.assignments, ...mapping.constants.map(([target]) => ({ target }))].map(
      ({ target }) => target,
    ),
  )
  const unused: string[] = []
  const rest: [index: number, name: string][] = []
  for (const [index, name] of names.entries()) {
    if (steps.has(index) || name === '' || NOTE_COLUMNS.some((note) => note === name)) continue
    const bare = name.replace(/:(?:text|number|boolean|json|s|ms)$/, '')
    if (isTarget(bare) && !taken.has(bare)) {
      requireColumn(names, name, bare)
      taken.add(bare)
      steps.set(index, parseTarget('line 1', name))
    } else if (mapping.rest) rest.push([index, name])
    else unused.push(name)
  }
  // Without a kind, every line would be refused.
  if (mapping.type === undefined && !taken.has('type'))
    throw new UsageError('line 1: no column type: use --type track (or another kind), or --map type=<column>')
  const messageIdIndex = names.indexOf(NOTE_COLUMNS[1])
  const columns = new Map([...steps].map(([index, { target }]) => [target, names[index] as string]))
  return {
    unused,
    columnOf: (target) => columns.get(target) ?? target,
    isMapped: (target) => taken.has(target),
    map(row) {
      if (row.length !== names.length) {
        const message = `expected ${names.length} columns, got ${row.length}`
        return { problem: { reason: 'invalid_csv', message } }
      }
      const builder = new MessageBuilder(mapping)
      for (const [index, { target, cast }] of steps) {
        const text = row[index]
        if (text === undefined || text === '') continue
        const isObjectField = OBJECT_FIELDS.some((field) => field === target)
        const problem = builder.set(target, text, cast ?? (isObjectField ? 'json' : undefined))
        if (problem !== undefined) return { problem: { ...problem, column: names[index] as string } }
      }
      for (const [index, name] of rest) if (row[index]) builder.addRest(name, row[index])
      return builder.finish(row[messageIdIndex] || undefined)
    },
  }
}

function requireColumn(names: readonly string[], source: string, target: string): number {
  const index = names.indexOf(source)
  if (index === -1) {
    const meant = nearest(source, names)
    const hint =
      meant === undefined
        ? `there are ${names.map((name) => printable(name)).join(', ')}`
        : `did you mean ${printable(meant)}?`
    throw new UsageError(`line 1: no column ${quoted(source)} for ${target}; ${hint}`)
  }
  if (names.indexOf(source, index + 1) !== -1) {
    throw new UsageError(`line 1: two columns are named ${quoted(source)}, which is mapped to ${target}`)
  }
  return index
}

/** A field needs no mapping if a message has a field of the same name. */
export function createObjectMapper(
  mapping: Mapping,
): Mapper<Fields> & { readonly unseen: ReadonlySet<string> } {
  const targets = new Set(mapping.assignments.map(({ target }) => target))
  const sources = new Set(mapping.assignments.map(({ source }) => source.split('.')[0]))
  for (const { source } of mapping.assignments) sources.add(source)
  const unseen = new Set(mapping.assignments.map(({ source }) => source))
  const unused = new Set<string>()
  const columns = new Map(mapping.assignments.map(({ target, source }) => [target, source]))
  const taken = new Set([...targets, ...mapping.constants.map(([target]) => target)])
  return {
    get unused() {
      return [...unused]
    },
    unseen,
    columnOf: (target) => columns.get(target) ?? target,
    isMapped: (target) => taken.has(target),
    map(fields) {
      const builder = new MessageBuilder(mapping)
      for (const name of Object.keys(fields)) {
        if (sources.has(name) || name === NOTE_FIELD) continue
        if (isTarget(name) && !name.includes('.')) {
          if (targets.has(name)) continue
          taken.add(name)
          const problem = builder.set(name, fields[name], undefined)
          if (problem !== undefined) return { problem: { ...problem, column: name } }
        } else if (mapping.rest) builder.addRest(name, fields[name])
        else if (!TRANSPORT_FIELDS.has(name) && unused.size < 20) unused.add(name)
      }
      for (const { target, source, cast } of mapping.assignments) {
        const value = valueAt(fields, source)
        if (value === undefined) continue
        if (unseen.size > 0) unseen.delete(source)
        const problem = builder.set(target, value, cast)
        if (problem !== undefined) return { problem: { ...problem, column: source } }
      }
      const note = fields[NOTE_FIELD]
      const noted = isObject(note) && typeof note['messageId'] === 'string' ? note['messageId'] : undefined
      return builder.finish(noted)
    },
  }
}

function valueAt(fields: Fields, source: string): unknown {
  if (Object.hasOwn(fields, source)) return fields[source]
  let value: unknown = fields
  for (const part of source.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

class MessageBuilder {
  readonly #mapping: Mapping
  readonly #params: Record<string, unknown> = {}
  readonly #rest: [name: string, value: unknown][] = []

  constructor(mapping: Mapping) {
    this.#mapping = mapping
  }

  set(target: string, value: unknown, to: Cast | undefined): Omit<Problem, 'column'> | undefined {
    const plain = to === undefined ? { value } : cast(value, to)
    if ('problem' in plain) return plain.problem
    const result = target === 'timestamp' ? castTimestamp(plain.value) : plain
    if ('problem' in result) return result.problem
    return this.#put(target, result.value)
  }

  #put(target: string, value: unknown): Omit<Problem, 'column'> | undefined {
    const [field = '', ...path] = target.split('.')
    if (path.length === 0) {
      if (OBJECT_FIELDS.some((one) => one === field)) this.#merge(field, value)
      else this.#params[field] = value
      return undefined
    }
    // dset would create an array here if the next part of the path is a number.
    if (!isObject(this.#params[field])) this.#params[field] = {}
    try {
      dset(this.#params, target, value)
      return undefined
    } catch {
      return { reason: 'invalid', message: `${target}: the value cannot be set there` }
    }
  }

  addRest(name: string, value: unknown): void {
    this.#rest.push([name, value])
  }

  finish(noted: string | undefined): MappedRecord {
    for (const [target, value] of this.#mapping.constants) {
      const problem = this.#put(target, value)
      if (problem !== undefined) return { problem }
    }
    const { type = this.#mapping.type, ...params } = this.#params
    if (!KINDS.has(type)) {
      const message =
        type === undefined
          ? 'no type; use --type track, or map a column to it'
          : `expected identify, track, page, screen, group or alias, got ${quoted(type)}`
      return { problem: { reason: 'invalid', message: `type: ${message}`, column: 'type' } }
    }
    if (this.#rest.length > 0) this.#putRest(params, type as Kind)
    const messageId = params['messageId'] ?? noted
    return { kind: type as Kind, params, messageId: messageId as string | undefined }
  }

  /** Keys that were set one by one win. */
  #merge(target: string, value: unknown): void {
    const present = this.#params[target]
    if (!isObject(value)) {
      if (present === undefined || value !== null) this.#params[target] = value
    } else this.#params[target] = { ...value, ...(isObject(present) ? present : {}) }
  }

  #putRest(params: Record<string, unknown>, type: Kind): void {
    const field = type === 'identify' || type === 'group' ? 'traits' : 'properties'
    const present = params[field]
    // An assignment to a key `__proto__` would set the prototype. Here a column of that name stays ordinary data.
    const rest = Object.fromEntries(this.#rest)
    params[field] = isObject(present) ? { ...rest, ...present } : rest
  }
}
