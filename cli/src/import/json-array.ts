import { CommandError } from '../errors.ts'
import {
  MAX_RECORD_BYTES,
  NEWLINE,
  type Position,
  QUOTE,
  type SourceRecord,
  type Splitter,
  tooLong,
} from './record.ts'

const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN = new Set([0x5b, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])
const ARRAY_START = 0x5b
const ARRAY_END = 0x5d
const WHITE_SPACE = new Set([0x20, 0x09, 0x0d, NEWLINE])

const EXPECTED: Record<string, string> = {
  start: 'an array',
  'element or end': 'an element or the end',
  element: 'an element',
  'comma or end': 'a comma or the end',
  end: 'nothing after the array',
}

export interface JsonArrayOptions {
  /** Whether the splitter begins after an element. */
  readonly isInside?: boolean
  /** Whether the elements follow each other without brackets, with or without commas and line ends. */
  readonly isSequence?: boolean
}

/** Looks only at brackets and quotes; each element is parsed later. */
export class JsonArraySplitter implements Splitter {
  #offset: number
  #line: number
  #state: 'start' | 'element or end' | 'element' | 'inside' | 'comma or end' | 'end'
  #depth = 0
  #isInString = false
  #isEscaped = false
  #parts: Buffer[] = []
  #partBytes = 0
  #startLine = 0
  /** The line in which the last element ended; 0 if there was none. */
  #lastLine: number
  readonly #isSequence: boolean

  constructor({ offset, line }: Position, options: JsonArrayOptions = {}) {
    const { isInside = false, isSequence = false } = options
    this.#offset = offset
    this.#line = line
    this.#isSequence = isSequence
    this.#state = isInside || isSequence ? 'comma or end' : 'start'
    this.#lastLine = isInside ? line : 0
  }

  get line(): number {
    return this.#line
  }

  failure: CommandError | undefined

  push(chunk: Buffer): SourceRecord[] {
    const records: SourceRecord[] = []
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (this.#state === 'inside') {
        if (this.#isWithin(byte)) continue
        // A number or a literal (`true`, `false`, `null`) ends before this byte.
        this.#keep(chunk.subarray(start, this.#depth === 0 && this.#isCloser ? at + 1 : at))
        this.#end(at, records)
        if (this.#isCloser) continue
      }
      if (byte === NEWLINE) this.#line++
      if (WHITE_SPACE.has(byte)) continue
      if (this.#between(byte)) start = at
      if (this.failure !== undefined) return records
    }
    if (this.#state === 'inside') this.#keep(chunk.subarray(start))
    this.#offset += chunk.length
    return records
  }

  finish(): SourceRecord[] {
    if (this.#state === 'end' || (this.#isSequence && this.#state !== 'inside')) return []
    if (this.#state === 'start') throw new CommandError('expected a JSON array')
    if (this.#state !== 'inside') throw new CommandError(`line ${this.#line}: the JSON array has no end`)
    const where = { line: this.#startLine, nextLine: this.#line + 1, end: this.#offset }
    const what = this.#isSequence ? 'file' : 'JSON array'
    const problem = { reason: 'invalid_json', message: `the ${what} ends inside this element` }
    return [{ ...where, bytes: Buffer.concat(this.#parts), problem }]
  }

  #isCloser = false

  /** Returns whether the element continues after this byte. */
  #isWithin(byte: number): boolean {
    this.#isCloser = false
    if (byte === NEWLINE && this.#depth > 0) this.#line++
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) {
        this.#isInString = false
        this.#isCloser = this.#depth === 0
        return !this.#isCloser
      }
      return true
    }
    if (this.#depth === 0) return byte !== COMMA && byte !== ARRAY_END && !WHITE_SPACE.has(byte)
    if (byte === QUOTE) this.#isInString = true
    else if (OPEN.has(byte)) this.#depth++
    else if (CLOSE.has(byte)) {
      this.#depth--
      this.#isCloser = this.#depth === 0
      return !this.#isCloser
    }
    return true
  }

  /** Returns whether an element starts with this byte. */
  #between(byte: number): boolean {
    const state =
      this.#isSequence && this.#state === 'comma or end' && byte !== COMMA ? 'element' : this.#state
    if (state === 'start' && byte === ARRAY_START) this.#state = 'element or end'
    else if (state === 'comma or end' && byte === COMMA) this.#state = 'element'
    else if (byte === ARRAY_END && (state === 'comma or end' || state === 'element or end'))
      this.#state = 'end'
    else if ((state === 'element' || state === 'element or end') && byte !== COMMA && byte !== ARRAY_END) {
      this.#state = 'inside'
      this.#startLine = this.#line
      this.#isInString = byte === QUOTE
      this.#depth = OPEN.has(byte) ? 1 : 0
      return true
    } else {
      const expected = EXPECTED[state]
      this.failure = new CommandError(`line ${this.#line}: the JSON array is broken: expected ${expected}`)
    }
    return false
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length
    if (this.#partBytes > MAX_RECORD_BYTES) this.#parts = []
    else this.#parts.push(part)
  }

  #end(at: number, records: SourceRecord[]): void {
    const isTooLong = this.#partBytes > MAX_RECORD_BYTES
    const place = {
      line: this.#startLine,
      nextLine: this.#line,
      end: this.#offset + at + (this.#isCloser ? 1 : 0),
      bytes: Buffer.concat(this.#parts),
      ...(this.#startLine === this.#lastLine && { isInsideLine: true }),
    }
    this.#lastLine = this.#line
    records.push(isTooLong ? { ...place, problem: tooLong(this.#startLine) } : place)
    this.#parts = []
    this.#partBytes = 0
    this.#state = 'comma or end'
  }
}
