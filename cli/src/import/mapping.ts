import { UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import { type ExactJson, parseExact } from '../settings/exact-json.ts'
import { CASTS, type Cast, type CastRules } from './cast.ts'

const PLAIN_FIELDS = [
  'type',
  'userId',
  'anonymousId',
  'previousId',
  'groupId',
  'event',
  'name',
  'category',
  'timestamp',
  'messageId',
] as const
export const ID_FIELDS: ReadonlySet<string> = new Set([
  'userId',
  'anonymousId',
  'previousId',
  'groupId',
  'messageId',
])
export const OBJECT_FIELDS = ['properties', 'traits', 'context', 'integrations'] as const

/** Assigns a column, or a field of a JSON object, to a field of the message. */
export interface Assignment {
  /** A field of the message, or a path into one: `properties.total`. */
  readonly target: string
  readonly source: string
  readonly cast: Cast | undefined
}

export interface Mapping {
  readonly assignments: readonly Assignment[]
  readonly constants: readonly (readonly [target: string, value: unknown])[]
  /** The kind of message for lines that do not name one. */
  readonly type: string | undefined
  /** Whether columns without a mapping become properties or traits. */
  readonly rest: boolean
  readonly rules: ReadingRules
}

/** How values are read. */
export interface ReadingRules extends CastRules {
  /** Texts that mean no value, in every column. */
  readonly null?: readonly string[] | undefined
  /** What becomes of integers beyond 2^53. Default: `text`. */
  readonly largeNumbers?: 'text' | 'refuse' | undefined
}

export interface MappingFlags extends ReadingRules {
  readonly map?: readonly string[]
  readonly set?: readonly string[]
  readonly type?: string
  readonly rest?: boolean
}

/** @throws UsageError */
export function readMapping(flags: MappingFlags): Mapping {
  // A comma in the name of a column separates nothing: what follows it has no `=`.
  const assignments = (flags.map ?? []).flatMap((text) => text.split(/,(?=[^,=]+=)/)).map(parsePair)
  const seen = new Set<string>()
  for (const { target } of assignments) {
    if (seen.has(target)) throw new UsageError(`--map: ${printable(target)} is mapped twice`)
    seen.add(target)
  }
  const { type } = flags
  if (type !== undefined && !KINDS.includes(type))
    throw new UsageError(`--type: expected ${KINDS.join(', ')}, got ${printable(type)}`)
  return {
    assignments,
    constants: (flags.set ?? []).map((text) => parseAssignment('--set', text)),
    type,
    rest: flags.rest ?? false,
    rules: flags,
  }
}

/** Parses `userId=customer_id` or `properties.total:number=amount`. */
function parsePair(pair: string): Assignment {
  const at = pair.indexOf('=')
  const source = pair.slice(at + 1).trim()
  if (at < 1 || source === '') {
    throw new UsageError(`--map: expected field=column, got ${printable(JSON.stringify(pair))}`)
  }
  return { ...parseTarget('--map', pair.slice(0, at).trim()), source }
}

/**
 * Parses `name=text` or `name:=JSON`, for example `plan=pro` and `total:=42.5`.
 *
 * @param onLoss Called for a number that a double cannot hold: an integer has become text.
 * @throws UsageError
 */
export function parseAssignment(
  option: string,
  text: string,
  onLoss: (option: string, name: string) => void = refuseLoss,
): [target: string, value: unknown] {
  const at = text.indexOf('=')
  const shown = printable(JSON.stringify(text))
  if (at < 1) throw new UsageError(`${option}: expected name=text or name:=JSON, got ${shown}`)
  const isJson = text[at - 1] === ':'
  const name = text.slice(0, isJson ? at - 1 : at)
  const value = text.slice(at + 1)
  if (option === '--set') parseTarget(option, name)
  if (!isJson) return [name, value]
  let exact: ExactJson
  try {
    exact = parseExact(value)
  } catch {
    const got = printable(JSON.stringify(value))
    throw new UsageError(`${option}: ${printable(name)}: expected JSON after ":=", got ${got}`)
  }
  if (exact.losses.length > 0) onLoss(option, name)
  return [name, exact.value]
}

function refuseLoss(option: string, name: string): never {
  const what = 'a number that cannot be sent exactly; write it as text'
  throw new UsageError(`${option}: ${printable(name)}: ${what}`)
}

/** Parses `properties.total` or `properties.total:number`. @throws UsageError when the target is not a field of a message. */
export function parseTarget(where: string, text: string): Omit<Assignment, 'source'> {
  const colon = text.lastIndexOf(':')
  const target = colon === -1 ? text : text.slice(0, colon)
  const cast = colon === -1 ? undefined : text.slice(colon + 1)
  if (!isTarget(target)) {
    const fields = [...PLAIN_FIELDS, ...OBJECT_FIELDS].join(', ')
    throw new UsageError(
      `${where}: messages have no field ${printable(target)}; they have ${fields}; for a property, write properties.<name>`,
    )
  }
  if (cast !== undefined && !isCast(cast)) {
    throw new UsageError(`${where}: ${printable(text)}: expected ${CASTS.join(', ')} after the colon`)
  }
  return { target, cast }
}

/** Whether a name is a field of a message, or a path into one. */
export function isTarget(name: string): boolean {
  if ([...PLAIN_FIELDS, ...OBJECT_FIELDS].some((field) => field === name)) return true
  const [field, ...path] = name.split('.')
  return path.length > 0 && path.every((part) => part !== '') && OBJECT_FIELDS.some((one) => one === field)
}

/** Usual names of columns, in lower case without separators, for fields that are not named so. */
const ALIASES: Readonly<Record<string, string>> = {
  user: 'userId',
  uid: 'userId',
  customerid: 'userId',
  eventname: 'event',
  time: 'timestamp',
  date: 'timestamp',
  createdat: 'timestamp',
  occurredat: 'timestamp',
  eventtime: 'timestamp',
}

/** Returns the field that a column is meant for, by its name: `userId` for `user_id`. */
export function fieldNamedBy(column: string): string | undefined {
  const bare = column.toLowerCase().replace(/[^a-z]/g, '')
  return PLAIN_FIELDS.find((field) => field.toLowerCase() === bare) ?? ALIASES[bare]
}

function isCast(name: string): name is Cast {
  return CASTS.some((one) => one === name)
}

const KINDS = ['identify', 'track', 'page', 'screen', 'group', 'alias']
