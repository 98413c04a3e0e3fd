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
  #at = 0

  constructor(text: string) {
    this.#text = text
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
    switch (this.#next()) {
      case '{':
        return this.#readMembers('}', () => {
          if (this.#next() !== '"') this.#fail('a key in double quotes')
          this.#readString()
          if (this.#next() !== ':') this.#fail('":"')
          this.#at++
          this.#readValue()
        })
      case '[':
        return this.#readMembers(']', () => this.#readValue())
      case '"':
        return this.#readString()
      default:
        if (!this.#skip(LITERAL) && !this.#skip(NUMBER)) this.#fail('a value')
    }
  }

  #readMembers(end: string, readMember: () => void): void {
    this.#at++
    if (this.#next() === end) {
      this.#at++
      return
    }
    for (;;) {
      readMember()
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
