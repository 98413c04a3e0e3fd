import { comparisonsOf } from './meanings.ts'
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
/** See `comparisonsOf`. They are also parameters of a statement, whose number is limited. */
const MAX_COMPARISONS = 200
const MAX_DEPTH = 20

const OPERATORS: ReadonlyArray<[text: string, operator: Operator]> = [
  ['>=', '>='],
  ['<=', '<='],
  ['!=', '!='],
  ['>', '>'],
  ['<', '<'],
  [':', '='],
  ['=', '='],
]
const BLANK = /\s/
const ENDS_WORD = /[\s:<>=!(),"]/
const ENDS_VALUE = /[\s(),"]/

/**
 * Parses a search, for example `event:"Order Completed" user:ada properties.total>100 -source:web`.
 *
 * @throws SearchSyntaxError with the position of the mistake.
 */
export function parseSearch(line: string, vocabulary: Vocabulary): Search {
  if (line.length > MAX_SEARCH_CHARACTERS) {
    throw new SearchSyntaxError(
      `a search line has at most ${MAX_SEARCH_CHARACTERS} characters`,
      MAX_SEARCH_CHARACTERS,
      line.length - MAX_SEARCH_CHARACTERS,
    )
  }
  return new Parser(line, vocabulary).all()
}

class Parser {
  readonly #line: string
  readonly #vocabulary: Vocabulary
  #at = 0
  #comparisons = 0
  #depth = 0

  constructor(line: string, vocabulary: Vocabulary) {
    this.#line = line
    this.#vocabulary = vocabulary
  }

  all(): Search {
    this.#skipBlanks()
    if (this.#isAtEnd()) return EVERYTHING
    const search = this.#alternatives()
    if (!this.#isAtEnd()) throw this.#error('this bracket closes nothing', this.#at, 1)
    return search
  }

  #alternatives(): Search {
    const parts = [this.#conjunction()]
    while (this.#takeOr()) parts.push(this.#conjunction())
    return parts.length === 1 ? (parts[0] as Search) : { kind: 'or', parts }
  }

  #conjunction(): Search {
    const parts: Search[] = []
    for (;;) {
      this.#skipBlanks()
      if (this.#isAtEnd() || this.#peek() === ')' || this.#isOr()) break
      parts.push(this.#term())
    }
    if (parts.length === 0) {
      const end = this.#isAtEnd()
      throw this.#error('expected a term here', end ? Math.max(0, this.#at - 1) : this.#at, 1)
    }
    return parts.length === 1 ? (parts[0] as Search) : { kind: 'and', parts }
  }

  #term(): Search {
    const start = this.#at
    if (this.#peek() === '-') {
      this.#at++
      if (this.#isAtEnd() || BLANK.test(this.#peek())) throw this.#error('expected a term here', start, 1)
      return { kind: 'not', part: this.#nested(start, () => this.#term()) }
    }
    if (this.#peek() === '(') {
      this.#at++
      const inner = this.#nested(start, () => this.#alternatives())
      if (this.#peek() !== ')') throw this.#error('this bracket is not closed', start, 1)
      this.#at++
      return inner
    }
    const term: Search =
      this.#peek() === '"' ? { kind: 'text', text: this.#quoted() } : this.#wordOrComparison()
    this.#comparisons += comparisonsOf(term)
    if (this.#comparisons <= MAX_COMPARISONS) return term
    throw this.#error(
      `up to here, the line needs ${this.#comparisons} comparisons for each record, and the limit is ${MAX_COMPARISONS}: ` +
        'a value counts once, a word with letters beyond ASCII up to four times, a whole number in a path twice',
      start,
      this.#at - start,
    )
  }

  #nested<T>(start: number, read: () => T): T {
    this.#depth++
    if (this.#depth > MAX_DEPTH) throw this.#error(`at most ${MAX_DEPTH} levels`, start, 1)
    const result = read()
    this.#depth--
    return result
  }

  #wordOrComparison(): Search {
    const start = this.#at
    const keys = this.#keys()
    const written = this.#line.slice(start, this.#at)
    const operator = this.#operator()
    if (operator === undefined) {
      if (written === '' || (!this.#isAtEnd() && !BLANK.test(this.#peek()) && this.#peek() !== ')')) {
        throw this.#error(
          `unexpected ${JSON.stringify(this.#peek())}; quote the text to search for it`,
          this.#at,
          1,
        )
      }
      return { kind: 'text', text: written }
    }
    const field = this.#field(keys, written, start)
    const valueStart = this.#at
    const values = this.#values()
    if (operator !== '=' && operator !== '!=' && (values.length > 1 || values[0]?.is !== 'exact')) {
      throw this.#error('expected one value to compare with', valueStart, this.#at - valueStart)
    }
    return { ...field, operator, values, position: start, length: this.#at - start }
  }

  /** Keys are separated by dots. A key may be quoted. */
  #keys(): string[] {
    const keys = ['']
    for (;;) {
      const next = this.#peek()
      if (next === '"' && keys.at(-1) === '' && keys.length > 1) {
        keys[keys.length - 1] = this.#quoted()
      } else if (next === '.') {
        this.#at++
        keys.push('')
      } else if (next === '' || ENDS_WORD.test(next)) {
        return keys
      } else {
        this.#at++
        keys[keys.length - 1] += next
      }
    }
  }

  #field(keys: string[], written: string, start: number): Pick<Comparison, 'kind' | 'field' | 'path'> {
    const { fields, roots } = this.#vocabulary
    if (written === '') throw this.#error('expected the name of a field', start, 1)
    if (keys.length === 1 && Object.hasOwn(fields, written)) {
      return { kind: 'compare', field: fields[written] as string, path: [] }
    }
    if (keys.length > 1 && roots.includes(keys[0] as string)) {
      if (!keys.includes('')) return { kind: 'compare', field: 'path', path: keys }
      throw this.#error('a key of a path is empty', start, written.length)
    }
    const known = [...Object.keys(fields), ...roots.map((root) => `${root}.…`)].join(', ')
    throw this.#error(
      `no field is named ${JSON.stringify(written)}; there are ${known}; to search for text, quote it`,
      start,
      written.length,
    )
  }

  #values(): Value[] {
    const values = [this.#value()]
    while (this.#peek() === ',') {
      this.#at++
      values.push(this.#value())
    }
    return values
  }

  #value(): Value {
    const start = this.#at
    if (this.#peek() === '"') return { is: 'exact', text: this.#quoted(), isQuoted: true }
    while (!this.#isAtEnd() && !ENDS_VALUE.test(this.#peek())) this.#at++
    const text = this.#line.slice(start, this.#at)
    if (text === '') {
      // The error points at the character in place of the value. If nothing follows, it points at the character before.
      const isNothing = this.#isAtEnd() || BLANK.test(this.#peek())
      throw this.#error('expected a value; "" is the empty text', isNothing ? start - 1 : start, 1)
    }
    if (text === '*') return { is: 'anything' }
    return text.endsWith('*')
      ? { is: 'prefix', text: text.slice(0, -1) }
      : { is: 'exact', text, isQuoted: false }
  }

  #quoted(): string {
    const start = this.#at
    let text = ''
    this.#at++
    for (;;) {
      if (this.#isAtEnd()) throw this.#error('this quote is not closed', start, 1)
      let next = this.#peek()
      this.#at++
      if (next === '"') return text
      if (next === '\\') {
        next = this.#peek()
        if (next !== '"' && next !== '\\') throw this.#error('expected \\" or \\\\', this.#at - 1, 2)
        this.#at++
      }
      text += next
    }
  }

  #operator(): Operator | undefined {
    const found = OPERATORS.find(([text]) => this.#line.startsWith(text, this.#at))
    if (found === undefined) return undefined
    this.#at += found[0].length
    return found[1]
  }

  #isOr(): boolean {
    return /^OR(?=[\s()]|$)/.test(this.#line.slice(this.#at, this.#at + 3))
  }

  #takeOr(): boolean {
    if (!this.#isOr()) return false
    this.#at += 2
    return true
  }

  #peek(): string {
    return this.#line.charAt(this.#at)
  }

  #isAtEnd(): boolean {
    return this.#at >= this.#line.length
  }

  #skipBlanks(): void {
    while (!this.#isAtEnd() && BLANK.test(this.#peek())) this.#at++
  }

  #error(message: string, position: number, length: number): SearchSyntaxError {
    return new SearchSyntaxError(message, position, length)
  }
}
