import {
  type Comparison,
  EVERYTHING,
  type Operator,
  type Search,
  SearchSyntaxError,
  type Value,
  type Vocabulary,
} from './syntax.ts'

/** In UTF-16 code units. */
export const MAX_SEARCH_CHARACTERS = 4000
/** Words, and values of fields. */
const MAX_COMPARISONS = 200
const MAX_DEPTH = 20

const BLANKS = /\s*/y
const OR = /OR(?=[\s()]|$)/y
const KEY = /[^\s:<>=!(),".]*/y
const OPERATOR = />=|<=|!=|[><:=]/y
const VALUE = /[^\s(),"]+/y
const QUOTED = /"(?:[^"\\]|\\["\\])*/y

/**
 * Parses a search, for example `event:"Order Completed" user:ada properties.total>100 -source:web`.
 *
 * @throws SearchSyntaxError with the position of the mistake.
 */
export function parseSearch(line: string, vocabulary: Vocabulary): Search {
  let at = 0
  let comparisons = 0
  let depth = 0

  const tooLong = line.length - MAX_SEARCH_CHARACTERS
  if (tooLong > 0)
    fail(`a search line has at most ${MAX_SEARCH_CHARACTERS} characters`, MAX_SEARCH_CHARACTERS, tooLong)
  take(BLANKS)
  if (at === line.length) return EVERYTHING
  const search = alternatives()
  if (at < line.length) fail('this bracket closes nothing', at, 1)
  return search

  function fail(message: string, position: number, length: number): never {
    throw new SearchSyntaxError(message, position, length)
  }

  /** Goes on behind what matches here; undefined if nothing does. */
  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at
    const found = pattern.exec(line)?.[0]
    at += found?.length ?? 0
    return found
  }

  function isAt(characters: RegExp): boolean {
    return characters.test(line.charAt(at))
  }

  function alternatives(): Search {
    const parts = [conjunction()]
    while (take(OR) !== undefined) parts.push(conjunction())
    return parts.length === 1 ? (parts[0] as Search) : { kind: 'or', parts }
  }

  function conjunction(): Search {
    const parts: Search[] = []
    for (;;) {
      take(BLANKS)
      OR.lastIndex = at
      if (at === line.length || isAt(/\)/) || OR.test(line)) break
      parts.push(term())
    }
    if (parts.length > 1) return { kind: 'and', parts }
    return parts[0] ?? fail('expected a term here', at === line.length ? Math.max(0, at - 1) : at, 1)
  }

  function term(): Search {
    const start = at
    if (isAt(/-/)) {
      at++
      if (at === line.length || isAt(/\s/)) fail('expected a term here', start, 1)
      return { kind: 'not', part: nested(start, term) }
    }
    if (isAt(/\(/)) {
      at++
      const inner = nested(start, alternatives)
      if (!isAt(/\)/)) fail('this bracket is not closed', start, 1)
      at++
      return inner
    }
    const found: Search = isAt(/"/) ? { kind: 'text', text: quoted() } : wordOrComparison()
    comparisons += found.kind === 'compare' ? found.values.length : 1
    if (comparisons <= MAX_COMPARISONS) return found
    return fail(`a line has at most ${MAX_COMPARISONS} words and values`, start, at - start)
  }

  function nested(start: number, read: () => Search): Search {
    depth++
    if (depth > MAX_DEPTH) fail(`at most ${MAX_DEPTH} levels`, start, 1)
    const search = read()
    depth--
    return search
  }

  function wordOrComparison(): Search {
    const start = at
    const keys = [take(KEY) ?? '']
    while (isAt(/\./)) {
      at++
      keys.push(isAt(/"/) ? quoted() : (take(KEY) ?? ''))
    }
    const written = line.slice(start, at)
    const sign = take(OPERATOR)
    if (sign === undefined) {
      if (written !== '' && (at === line.length || isAt(/[\s)]/))) return { kind: 'text', text: written }
      const found = JSON.stringify(line.charAt(at))
      return fail(`unexpected ${found}; quote the text to search for it`, at, 1)
    }
    const operator = (sign === ':' ? '=' : sign) as Operator
    const field = fieldOf(keys, written, start)
    const valueStart = at
    const values = [value()]
    while (isAt(/,/)) {
      at++
      values.push(value())
    }
    if (operator !== '=' && operator !== '!=' && (values.length > 1 || values[0]?.is !== 'exact'))
      fail('expected one value to compare with', valueStart, at - valueStart)
    return { kind: 'compare', ...field, operator, values, position: start, length: at - start }
  }

  function fieldOf(keys: string[], written: string, start: number): Pick<Comparison, 'field' | 'path'> {
    const { fields, roots } = vocabulary
    if (written === '') fail('expected the name of a field', start, 1)
    if (keys.length === 1 && Object.hasOwn(fields, written))
      return { field: fields[written] as string, path: [] }
    if (keys.length > 1 && roots.includes(keys[0] as string)) {
      if (keys.includes('')) fail('a key of a path is empty', start, written.length)
      return { field: 'path', path: keys }
    }
    const known = [...Object.keys(fields), ...roots.map((root) => `${root}.…`)].join(', ')
    return fail(
      `no field is named ${JSON.stringify(written)}; there are ${known}; to search for text, quote it`,
      start,
      written.length,
    )
  }

  function value(): Value {
    if (isAt(/"/)) return { is: 'exact', text: quoted(), isQuoted: true }
    // The error points at the character in place of the value. If nothing follows, it points at the character before.
    const place = at === line.length || isAt(/\s/) ? at - 1 : at
    const text = take(VALUE) ?? fail('expected a value; "" is the empty text', place, 1)
    if (text === '*') return { is: 'anything' }
    return text.endsWith('*')
      ? { is: 'prefix', text: text.slice(0, -1) }
      : { is: 'exact', text, isQuoted: false }
  }

  function quoted(): string {
    const start = at
    const text = take(QUOTED) ?? ''
    if (isAt(/\\/)) fail('expected \\" or \\\\', at, 2)
    if (!isAt(/"/)) fail('this quote is not closed', start, 1)
    at++
    return text.slice(1).replace(/\\(.)/g, '$1')
  }
}
