import { UsageError } from '../errors.ts'
import { printable, quoted } from '../output/text.ts'
import { parseExact } from '../settings/exact-json.ts'
import { CASTS, type Cast } from './cast.ts'
import { type Fields, isObject } from './json.ts'
import { ID_FIELDS, isTarget, type Mapping, OBJECT_FIELDS, parseTarget } from './mapping.ts'
import { type MappedRecord, MessageBuilder, refuseLarge } from './message-builder.ts'
import type { TakeNote } from './notes.ts'
import { valueAt, without } from './put.ts'
import type { ParsedRecord } from './record.ts'

export interface Mapper<Value> {
  /** Returns `undefined` for a header that is there again. */
  map(parsed: ParsedRecord<Value>, note: TakeNote): MappedRecord | undefined
  /** Why the file cannot be sent as it is. */
  readonly refusal?: string
  /** Sources of the mapping that no line has had. */
  readonly unseen: ReadonlySet<string>
  /** Returns the column or field of the input from which a field of the message comes. */
  columnOf(target: string): string
}

/** The reason and the messageId of a refused line, in the rejects file. An import of that file keeps the messageId. */
export const NOTE_FIELD = '_trackpost'
/** The first columns of a rejects file, so that no cell too many or too few in a row can move them. */
export const NOTE_COLUMNS = ['_trackpost_reason', '_trackpost_message_id'] as const

/** Fields that other libraries and services add to messages. */
const TRANSPORT_FIELDS = new Set(
  'sentAt receivedAt originalTimestamp writeKey channel version projectId _metadata'.split(' '),
)

/** What is around a message in an export of the collector. */
const EXPORT_FIELDS = ['id', 'receivedAt', 'status', 'reason', 'message']
const CAST = new RegExp(`:(?:${CASTS.join('|')})$`)

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
  const rest: [index: number, name: string][] = []
  const unsent: [index: number, name: string][] = []
  const twice = new Set<string>()
  for (const [index, name] of names.entries()) {
    if (steps.has(index) || NOTE_COLUMNS.some((note) => note === name)) continue
    const bare = name.replace(CAST, '')
    if (isTarget(bare) && !taken.has(bare)) {
      requireColumn(names, name, bare)
      taken.add(bare)
      steps.set(index, parseTarget('line 1', name))
    } else if (mapping.rest && name !== '') {
      if (names.indexOf(name) === index && names.indexOf(name, index + 1) === -1) rest.push([index, name])
      else twice.add(name)
    } else unsent.push([index, name])
  }
  // Without a kind, every line would be refused.
  if (mapping.type === undefined && !taken.has('type'))
    throw new UsageError(
      `line 1: no column type: use --type track (or another kind), or --map type=<column>${aboveHint(names)}`,
    )
  const messageIdIndex = names.indexOf(NOTE_COLUMNS[1])
  const columns = new Map([...steps].map(([index, { target }]) => [target, names[index] as string]))
  return {
    ...(twice.size > 0 && {
      refusal: `two columns are named ${[...twice].map(quoted).join(', ')}, and only one could be sent; rename one`,
    }),
    unseen: new Set(),
    columnOf: (target) => columns.get(target) ?? target,
    map({ value: row = [] }, note) {
      if (row.length !== names.length) {
        const message = `expected ${names.length} columns, got ${row.length}`
        return { problem: { reason: 'invalid_csv', message } }
      }
      if (row[0]?.trim() === names[0] && row.every((cell, index) => cell.trim() === names[index])) {
        note('header', 'line')
        return undefined
      }
      const builder = new MessageBuilder(mapping, note)
      for (const [index, { target, cast }] of steps) {
        const text = row[index]
        if (text === undefined || text === '') continue
        const isObjectField = OBJECT_FIELDS.some((field) => field === target)
        const problem = builder.set(
          target,
          text,
          cast ?? (isObjectField ? 'json' : undefined),
          names[index] as string,
        )
        if (problem !== undefined) return { problem }
      }
      for (const [index, name] of rest) if (row[index]) builder.addRest(name, row[index])
      for (const [index, name] of unsent)
        if (row[index]) name === '' ? note('no_name', `column ${index + 1}`) : note('not_sent', name)
      return builder.finish(row[messageIdIndex] || undefined)
    },
  }
}

/** For a header that looks like none, as with a title above it. */
function aboveHint(names: readonly string[]): string {
  return names.some((name) => isTarget(name.replace(CAST, '')))
    ? ''
    : '; if the header is further down: --skip-lines <number>'
}

/** Maps the rows of an export of the collector, which has each message as JSON in a column. */
export function createExportMapper(header: readonly string[], mapping: Mapping): Mapper<readonly string[]> {
  const inner = createObjectMapper(mapping)
  const [at, idAt] = ['message', NOTE_COLUMNS[1]].map((name) => header.indexOf(name)) as [number, number]
  return {
    ...inner,
    map({ record, value: row = [] }, note) {
      if (row.length !== header.length) {
        const message = `expected ${header.length} columns, got ${row.length}`
        return { problem: { reason: 'invalid_csv', message } }
      }
      const wrong = {
        problem: { reason: 'invalid', message: 'expected a message in JSON', column: 'message' },
      }
      try {
        const { value, losses } = parseExact(row[at] as string)
        if (!isObject(value)) return wrong
        note('export', 'message')
        const noted = row[idAt] ? { [NOTE_FIELD]: { messageId: row[idAt] } } : {}
        return inner.map({ record, value: { ...value, ...noted }, losses }, note)
      } catch {
        return wrong
      }
    },
  }
}

export function isExportHeader(header: readonly string[]): boolean {
  return EXPORT_FIELDS.every((name) => header.includes(name))
}

function requireColumn(names: readonly string[], source: string, target: string): number {
  const index = names.indexOf(source)
  if (index === -1) {
    const present = names.map((name) => printable(name)).join(', ')
    throw new UsageError(
      `line 1: no column ${quoted(source)} for ${target}; there are ${present}${aboveHint(names)}`,
    )
  }
  if (names.indexOf(source, index + 1) !== -1) {
    throw new UsageError(
      `line 1: two columns are named ${quoted(source)}, and only one could be sent (${target}); rename one`,
    )
  }
  return index
}

/** A field needs no mapping if a message has a field of the same name. */
export function createObjectMapper(mapping: Mapping): Mapper<Fields> {
  const targets = new Set(mapping.assignments.map(({ target }) => target))
  const paths = mapping.assignments.map((one) => ({ ...one, path: one.source.split('.') }))
  const ids = new Set(
    mapping.assignments.flatMap(({ target, source }) => (ID_FIELDS.has(target) ? [source] : [])),
  )
  const unseen = new Set(mapping.assignments.map(({ source }) => source))
  const columns = new Map(mapping.assignments.map(({ target, source }) => [target, source]))
  return {
    unseen,
    columnOf: (target) => columns.get(target) ?? target,
    map({ value: record = {}, losses = [] }, note) {
      const isExport = isExportRecord(record)
      const fields = isExport ? (record['message'] as Fields) : record
      if (isExport) note('export', 'message')
      for (const [path, loss] of losses) {
        const place = isExport ? path.replace(/^message\./, '') : path
        if (loss === 'large' && (ids.has(place) || (ID_FIELDS.has(place) && !targets.has(place)))) continue
        if (loss === 'large' && mapping.rules.largeNumbers === 'refuse')
          return { problem: refuseLarge(place) }
        note(loss, place)
      }
      let left: Fields = fields
      for (const { source, path } of paths) {
        if (unseen.size > 0 && valueAt(fields, source) !== undefined) unseen.delete(source)
        left = without(left, Object.hasOwn(left, source) ? [source] : path)
      }
      const builder = new MessageBuilder(mapping, note)
      for (const name of Object.keys(left)) {
        if (name === NOTE_FIELD) continue
        const value = left[name]
        if (isTarget(name) && !name.includes('.')) {
          if (targets.has(name)) {
            if (value !== null && value !== '') note('replaced', name)
            continue
          }
          const problem = builder.set(name, value, undefined, name)
          if (problem !== undefined) return { problem }
        } else if (mapping.rest) builder.addRest(name, value)
        else if (TRANSPORT_FIELDS.has(name)) note('transport', name)
        else note('not_sent', name)
      }
      for (const { target, source, cast } of mapping.assignments) {
        const value = valueAt(fields, source)
        if (value === undefined) continue
        const problem = builder.set(target, value, cast, source)
        if (problem !== undefined) return { problem }
      }
      const mark = record[NOTE_FIELD]
      const noted = isObject(mark) && typeof mark['messageId'] === 'string' ? mark['messageId'] : undefined
      return builder.finish(noted)
    },
  }
}

function isExportRecord(fields: Fields): boolean {
  return isObject(fields['message']) && EXPORT_FIELDS.every((name) => Object.hasOwn(fields, name))
}
