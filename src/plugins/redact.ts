import { snapshot } from '../message/snapshot.ts'
import type { ContextEvent } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { KeyPatterns } from './key-patterns.ts'
import { mistake, requireOptions } from './options.ts'
import { compilePatterns, TextPatterns } from './text-patterns.ts'

/** Options of {@link redact}: `keys`, `patterns` or both. */
export interface RedactOptions {
  /**
   * Keys whose values are replaced as a whole, at any depth. A string matches in upper or lower case, with or without `-`, `_` and
   * spaces: `creditCard` also matches `credit_card`. A regular expression may match any part of the key.
   */
  keys?: readonly (string | RegExp)[] | undefined
  /**
   * Their matches in strings, keys, numbers and dates are replaced, at any depth. A string matches literally, in upper or lower case;
   * of a regular expression, every match. A text of more than 2,048 characters is replaced as a whole, because some patterns take
   * quadratic time.
   */
  patterns?: readonly (string | RegExp)[] | undefined
  /** Or a function that makes it from the original text, such as a keyed hash. Default: `[redacted]`. */
  replacement?: string | ((text: string) => string) | undefined
}

const KEPT: ReadonlySet<string> = new Set(['type', 'messageId', 'timestamp', '_metadata'])
/** The names of these fields do not count as keys. */
const PROTOCOL: ReadonlySet<string> = new Set([
  'event',
  'name',
  'category',
  'properties',
  'traits',
  'context',
  'integrations',
])
/** If one of them would become empty, the event fails. */
const NEVER_EMPTY = ['userId', 'anonymousId', 'previousId', 'groupId', 'event'] as const
/** The greatest `maxMessageBytes`. */
const MAX_BYTES = 16_777_216

type Fields = Record<string, unknown>

/**
 * Makes a `before` plugin that removes personal data from all events, by key and by pattern, at any depth, also in keys and
 * ids. The plugin does not change `type`, `messageId`, `timestamp`, `_metadata`, `context.library` and the switches in
 * `integrations`. An event that cannot be redacted fails with the code `plugin`. Register the plugin as the last `before`
 * plugin. Data that `enrichment` plugins add is not redacted, because they run later.
 *
 * @throws TypeError for bad options.
 * @example
 * await analytics.register(redact({ keys: ['password', 'ip'], patterns: [/[^\s@]+@[^\s@]+/] }))
 */
export function redact(options: RedactOptions): Plugin {
  requireOptions('redact', options, ['keys', 'patterns', 'replacement'])
  const { replacement = '[redacted]' } = options
  const replace = readReplacement(replacement)
  const keys = new KeyPatterns(options.keys)
  const patterns = compilePatterns('patterns', options.patterns, 'g')
  if (keys.isEmpty && patterns.length === 0) {
    throw new TypeError('redact: expected keys or patterns, got neither')
  }
  const redaction = new Redaction(keys, new TextPatterns(patterns, replace), replace)
  return {
    name: 'redact',
    type: 'before',
    onLoadFailure: 'drop',
    all(ctx) {
      ctx.event = redaction.redactEvent(ctx.event)
    },
  }
}

function readReplacement(replacement: unknown): (text: string) => string {
  if (typeof replacement === 'string') return () => replacement
  if (typeof replacement !== 'function') {
    throw mistake('redact', 'replacement', 'a text or a function', replacement)
  }
  return (text) => {
    const result: unknown = replacement(text)
    if (typeof result === 'string') return result
    throw mistake('redact', 'replacement', 'a text from the function', result)
  }
}

class Redaction {
  readonly #keys: KeyPatterns
  readonly #patterns: TextPatterns
  readonly #replace: (text: string) => string

  constructor(keys: KeyPatterns, patterns: TextPatterns, replace: (text: string) => string) {
    this.#keys = keys
    this.#patterns = patterns
    this.#replace = replace
  }

  redactEvent(event: ContextEvent): ContextEvent {
    // A copy as plain data: a getter, a `toJSON` or a proxy could return another value when the JSON is written.
    const plain = snapshot(event, MAX_BYTES) as Fields
    const redacted = Object.fromEntries(
      Object.entries(plain).map(([key, value]) => [key, this.#field(key, value)]),
    )
    for (const name of NEVER_EMPTY) {
      if (redacted[name] === '' && plain[name] !== '') throw new Error(`${name} would be empty`)
    }
    return redacted as unknown as ContextEvent
  }

  #field(key: string, value: unknown): unknown {
    if (KEPT.has(key)) return value
    if (isFields(value) && key === 'context') {
      const { library, ...rest } = value
      return { ...(this.#fields(rest) as Fields), library }
    }
    if (isFields(value) && key === 'integrations') return this.#switches(value)
    return PROTOCOL.has(key) ? this.#value(value) : this.#under(key, value)
  }

  /** Booleans stay: text in place of `false` would be ignored, and the destination would be on. */
  #switches(switches: Fields): Fields {
    return Object.fromEntries(
      Object.entries(switches).map(([name, value]) => [
        name,
        typeof value === 'boolean' ? value : this.#value(value),
      ]),
    )
  }

  #under(key: string, value: unknown): unknown {
    const isNothing = value === undefined || value === null
    return !isNothing && this.#keys.match(key) ? this.#replace(textOf(value)) : this.#value(value)
  }

  #value(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        return this.#patterns.apply(value)
      case 'number':
        return this.#scalar(value)
      case 'object':
        if (value === null) return value
        if (value instanceof Date) return this.#scalar(value)
        return Array.isArray(value) ? value.map((item) => this.#value(item)) : this.#fields(value as Fields)
      default:
        return value
    }
  }

  #scalar(value: number | Date): unknown {
    const text = textOf(value)
    const redacted = this.#patterns.apply(text)
    return redacted === text ? value : redacted
  }

  #fields(fields: Fields): unknown {
    const entries = Object.entries(fields)
    const kept = new Set<string>()
    const renamed: [string, unknown][] = []
    const result = entries.map(([key, value]): [string, unknown] => {
      const newKey = this.#patterns.apply(key)
      const entry: [string, unknown] = [newKey, this.#under(key, value)]
      if (newKey === key) kept.add(key)
      else renamed.push(entry)
      return entry
    })
    if (renamed.length > 0) tellApart(renamed, kept)
    return Object.fromEntries(result)
  }
}

/** Adds numbers to keys that have become equal, so that no value is lost. */
function tellApart(renamed: [string, unknown][], taken: Set<string>): void {
  const counts = new Map<string, number>()
  for (const entry of renamed) {
    const [key] = entry
    let count = counts.get(key) ?? 1
    while (taken.has(entry[0])) entry[0] = `${key} ${++count}`
    counts.set(key, count)
    taken.add(entry[0])
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
