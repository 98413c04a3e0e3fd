/** The place at which a text stops being JSON. */
export interface JsonError {
  /** UTF-16 code units from the start of the text. */
  offset: number
  /** Counted from 1. */
  line: number
  /** Counted from 1, in UTF-16 code units. */
  column: number
  message: string
}

/**
 * Returns undefined if the text is valid. V8 is not used: its message has the position of only some mistakes, and quotes the
 * text. The search is recursive, so the stack limits the nesting of the text.
 */
export function findJsonError(text: string): JsonError | undefined {
  try {
    new Reader(text).readDocument()
    return undefined
  } catch (cause) {
    if (!(cause instanceof Mistake)) throw cause
    return { ...position(text, cause.offset), message: cause.message }
  }
}

export function position(text: string, offset: number): Omit<JsonError, 'message'> {
  const before = text.slice(0, offset).split('\n')
  return { offset, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/**
 * The place of the value to which keys and array indexes lead in a valid text. If there is no such value, the place of the
 * nearest value around it.
 */
export function positionOf(text: string, path: readonly (string | number)[]): Omit<JsonError, 'message'> {
  let depth = 0
  let offset = 0
  new Reader(text, (keys, at) => {
    // Of equal keys, the last one counts.
    if (keys.length < depth || !keys.every((key, index) => key === String(path[index]))) return
    depth = keys.length
    offset = at
  }).readDocument()
  return position(text, offset)
}

class Mistake extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

const BLANK = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: a string must not hold them
const CHARACTERS = /[^"\\\u0000-\u001f]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const LITERAL = /true|false|null/y

class Reader {
  readonly #text: string
  readonly #onValue: ((path: readonly string[], offset: number) => void) | undefined
  #at = 0
  readonly #path: string[] = []

  /** @param onValue Called for each value before it is read. */
  constructor(text: string, onValue?: (path: readonly string[], offset: number) => void) {
    this.#text = text
    this.#onValue = onValue
  }

  readDocument(): void {
    this.#readValue()
    this.#skip(BLANK)
    if (this.#at < this.#text.length) this.#fail('the end of the body')
  }

  /** Returns false if the pattern does not match at the current position. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return false
    this.#at = pattern.lastIndex
    return true
  }

  #next(): string | undefined {
    this.#skip(BLANK)
    return this.#text[this.#at]
  }

  #readValue(): void {
    const first = this.#next()
    this.#onValue?.(this.#path, this.#at)
    switch (first) {
      case '{':
        return this.#readMembers('}', () => {
          if (this.#next() !== '"') this.#fail('a key in double quotes')
          const start = this.#at
          this.#readString()
          const key = JSON.parse(this.#text.slice(start, this.#at)) as string
          if (this.#next() !== ':') this.#fail('":"')
          this.#at++
          this.#readMember(key)
        })
      case '[':
        return this.#readMembers(']', (index) => this.#readMember(String(index)))
      case '"':
        return this.#readString()
      default:
        if (!this.#skip(LITERAL) && !this.#skip(NUMBER)) this.#fail('a value')
    }
  }

  #readMember(key: string): void {
    this.#path.push(key)
    this.#readValue()
    this.#path.pop()
  }

  #readMembers(end: string, readMember: (index: number) => void): void {
    this.#at++
    if (this.#next() === end) {
      this.#at++
      return
    }
    for (let index = 0; ; index++) {
      readMember(index)
      const next = this.#next()
      if (next !== ',' && next !== end) this.#fail(`"," or "${end}"`)
      this.#at++
      if (next === end) return
    }
  }

  #readString(): void {
    this.#at++
    for (;;) {
      this.#skip(CHARACTERS)
      if (this.#text[this.#at] === '"') break
      if (this.#text[this.#at] === '\\') {
        if (!this.#skip(ESCAPE)) this.#fail('a valid escape')
      } else {
        this.#fail('the end of the string')
      }
    }
    this.#at++
  }

  #fail(expected: string): never {
    const found = this.#text[this.#at]
    const what = found === undefined ? 'the body ends' : `found ${JSON.stringify(found)}`
    throw new Mistake(this.#at, `expected ${expected}, but ${what}`)
  }
}
