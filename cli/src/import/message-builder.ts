import type { Kind } from 'trackpost'
import { quoted } from '../output/text.ts'
import { type Cast, type CastResult, cast, timeResult } from './cast.ts'
import { isObject } from './json.ts'
import { ID_FIELDS, type Mapping, OBJECT_FIELDS } from './mapping.ts'
import type { TakeNote } from './notes.ts'
import { isSame, put } from './put.ts'
import type { Problem } from './record.ts'
import { readTime } from './time.ts'

export type MappedRecord =
  | { readonly kind: Kind; readonly params: Params; readonly messageId: string | undefined }
  | { readonly problem: Problem }

/** The argument of a tracking method. The client checks its fields. */
export type Params = Readonly<Record<string, unknown>>

const COMMON = ['userId', 'timestamp', 'messageId', 'context', 'integrations']
const NAMED = [...COMMON, 'anonymousId', 'name', 'category', 'properties']
/** What the client sends of each kind of event. It ignores other fields. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  identify: [...COMMON, 'anonymousId', 'traits'],
  track: [...COMMON, 'anonymousId', 'event', 'properties'],
  page: NAMED,
  screen: NAMED,
  group: [...COMMON, 'anonymousId', 'groupId', 'traits'],
  alias: [...COMMON, 'previousId'],
}

/** What programs write for a missing value. As an id, it would make one user of all visitors. */
const NULL_WORD = /^(?:\\n|null|\(null\)|<null>|none|nan|undefined|nil|<na>|n\/a|#n\/a)$/i
const LONGEST_NULL_WORD = 9
/** A spreadsheet shows a long number so, and exports what it shows. */
const SCIENTIFIC = /^\d(?:[.,]\d+)?e\+\d+$/i

/** Builds the message of one line. */
export class MessageBuilder {
  readonly #mapping: Mapping
  readonly #note: TakeNote
  readonly #params: Record<string, unknown> = {}
  readonly #rest: [name: string, value: unknown][] = []

  constructor(mapping: Mapping, note: TakeNote) {
    this.#mapping = mapping
    this.#note = note
  }

  /** @param column Where the value comes from. */
  set(target: string, value: unknown, to: Cast | undefined, column: string): Problem | undefined {
    if (this.#isEmpty(value, column)) return undefined
    const isId = ID_FIELDS.has(target)
    if (isId && isNullWord(value)) {
      this.#note('no_id', target, column)
      return undefined
    }
    const result = this.#read(target, isId, value, to)
    if ('wrong' in result) {
      const hint = isNullWord(value) ? `; --null '${value}' leaves it out` : ''
      return { reason: 'invalid', message: result.wrong + hint, column }
    }
    for (const [path, kind] of result.notes ?? []) {
      if (kind === 'large' && this.#mapping.rules.largeNumbers === 'refuse') return refuseLarge(column)
      this.#note(kind, join(target, path), column)
    }
    if (typeof result.value === 'string') this.#look(target, isId || target === 'event', result.value, column)
    return this.#put(target, result.value, column)
  }

  #read(target: string, isId: boolean, value: unknown, to: Cast | undefined): CastResult {
    const { rules } = this.#mapping
    if (isId && (typeof value === 'number' ? !isExactId(value) : SCIENTIFIC.test(String(value).trim())))
      return {
        wrong: `expected an id, got ${quoted(value)}, a number that a spreadsheet or program has rounded: export the column as text`,
      }
    const plain = to === undefined ? { value } : cast(value, to, rules)
    if ('wrong' in plain || target !== 'timestamp' || plain.value === null) return plain
    const isRead = to !== undefined && /^(?:s|ms|us|ns)$/.test(to)
    return isRead || typeof plain.value === 'object' ? plain : timeResult(readTime(plain.value, rules))
  }

  /** A column or field without a mapping, for `--rest`. */
  addRest(name: string, value: unknown): void {
    if (this.#isEmpty(value, name)) return
    if (typeof value === 'string') this.#look(name, false, value, name)
    this.#rest.push([name, value])
  }

  #isEmpty(value: unknown, column: string): boolean {
    if (value === undefined) return true
    const { null: nulls } = this.#mapping.rules
    if (nulls === undefined || typeof value !== 'string' || !nulls.includes(value)) return false
    this.#note('null', column)
    return true
  }

  /** Notes what is probably not meant, but is sent. */
  #look(target: string, isName: boolean, value: string, column: string): void {
    if (isNullWord(value)) this.#note('null_word', target, column)
    else if (isName && value !== '' && value !== value.trim()) this.#note('space', target, column)
  }

  #put(target: string, value: unknown, column: string): Problem | undefined {
    if (OBJECT_FIELDS.some((one) => one === target)) {
      if (typeof value === 'string' && value.trimStart().startsWith('{'))
        return {
          reason: 'invalid',
          message: `expected an object, got text: --map ${target}:json=${column}`,
          column,
        }
      this.#merge(target, value, column)
      return undefined
    }
    const replaced = put(this.#params, target.includes('.') ? target.split('.') : [target], value)
    if (replaced === 'blocked') {
      const message = `${target}: a part of this path has a value already, so it cannot be an object`
      return { reason: 'invalid', message, column }
    }
    if (replaced) this.#note('replaced', target, column)
    return undefined
  }

  /** Keys that were set one by one win. */
  #merge(target: string, value: unknown, column: string): void {
    const present = this.#params[target]
    if (!isObject(value) || !isObject(present)) {
      if (present === undefined || value !== null) this.#params[target] = value
    } else this.#params[target] = this.#joined(target, value, present, column)
  }

  #joined(target: string, weak: object, strong: object, column?: string): object {
    for (const [key, value] of Object.entries(weak))
      if (Object.hasOwn(strong, key) && !isSame(value, (strong as Record<string, unknown>)[key]))
        this.#note('replaced', join(target, key), column)
    return { ...weak, ...strong }
  }

  finish(noted: string | undefined): MappedRecord {
    for (const [target, value] of this.#mapping.constants) {
      const problem = this.#put(target, value, '--set')
      if (problem !== undefined) return { problem }
    }
    const { type = this.#mapping.type, ...params } = this.#params
    const fields = typeof type === 'string' && Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined
    if (fields === undefined) {
      const message =
        type === undefined
          ? 'no type; use --type track, or map a column to it'
          : `expected identify, track, page, screen, group or alias, got ${quoted(type)}`
      return { problem: { reason: 'invalid', message: `type: ${message}`, column: 'type' } }
    }
    if (this.#rest.length > 0) this.#putRest(params, type as Kind)
    for (const name of Object.keys(params)) {
      if (fields.includes(name)) continue
      if (params[name] !== null && params[name] !== '') this.#note('no_field', name)
      delete params[name]
    }
    const { context, timestamp, category, properties } = params
    const inner = type === 'page' && isObject(properties) ? properties['category'] : undefined
    if (typeof category === 'string' && inner !== undefined && inner !== category)
      this.#note('replaced', 'properties.category')
    if (isObject(context) && context['library'] !== undefined) this.#note('library', 'context.library')
    if (timestamp === undefined || timestamp === null) this.#note('no_timestamp', 'timestamp')
    const messageId = params['messageId'] ?? noted
    return { kind: type as Kind, params, messageId: messageId as string | undefined }
  }

  #putRest(params: Record<string, unknown>, type: Kind): void {
    const field = type === 'identify' || type === 'group' ? 'traits' : 'properties'
    const present = params[field] ?? {}
    // An assignment to a key `__proto__` would set the prototype. Here a column of that name stays ordinary data.
    const rest = Object.fromEntries(this.#rest)
    if (isObject(present)) params[field] = this.#joined(field, rest, present)
  }
}

export function refuseLarge(column: string): Problem {
  const message = 'a number beyond 2^53 would be rounded; --large-numbers text sends it as text'
  return { reason: 'invalid', message, column }
}

function isNullWord(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NULL_WORD && NULL_WORD.test(value.trim())
}

/** An integer beyond 2^53 is text here already, unless it was written with an exponent or a fraction. */
function isExactId(value: number): boolean {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

function join(target: string, path: string): string {
  return path === '' ? target : `${target}.${path}`
}
