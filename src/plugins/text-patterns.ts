import { mistake } from './options.ts'

/** A longer text is replaced as a whole, and a longer key matches, because some patterns take quadratic time. */
export const MAX_LENGTH = 2_048

type Range = [start: number, end: number]

/**
 * All patterns search the original text, so that the replacement for one match cannot hide another. Matches that touch or overlap
 * are replaced as one.
 */
export class TextPatterns {
  readonly #patterns: readonly RegExp[]
  readonly #replace: (text: string) => string

  constructor(patterns: readonly RegExp[], replace: (text: string) => string) {
    this.#patterns = patterns
    this.#replace = replace
  }

  apply(text: string): string {
    if (this.#patterns.length === 0) return text
    if (text.length > MAX_LENGTH) return this.#replace(text)
    const ranges = this.#rangesIn(text)
    if (ranges.length === 0) return text
    let result = ''
    let end = 0
    for (const [from, to] of merge(ranges)) {
      result += text.slice(end, from) + this.#replace(text.slice(from, to))
      end = to
    }
    return result + text.slice(end)
  }

  #rangesIn(text: string): Range[] {
    const ranges: Range[] = []
    for (const pattern of this.#patterns) {
      // `lastIndex` may still be set if an earlier search has thrown.
      pattern.lastIndex = 0
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const [{ length }] = match
        if (length > 0) ranges.push([match.index, match.index + length])
        // After an empty match, skips a whole code point: from its middle, a pattern with the flag `u` would go back.
        else pattern.lastIndex += (text.codePointAt(pattern.lastIndex) ?? 0) > 0xffff ? 2 : 1
      }
    }
    return ranges
  }
}

function merge(ranges: Range[]): Range[] {
  const merged: Range[] = []
  for (const [from, to] of ranges.sort(([a], [b]) => a - b)) {
    const last = merged[merged.length - 1]
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** @throws TypeError when a pattern is neither a non-empty string nor a regular expression. */
export function compilePatterns(option: string, given: unknown, flags: '' | 'g'): RegExp[] {
  return requireList(option, given).map((pattern) => {
    if (isRegExp(pattern)) {
      // With `y`, each match would have to start at the end of the previous match; `d` is slow.
      return new RegExp(pattern.source, pattern.flags.replace(/[gyd]/g, '') + flags)
    }
    if (typeof pattern === 'string' && pattern !== '') {
      return new RegExp(pattern.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), `iu${flags}`)
    }
    throw mistake('redact', option, 'non-empty texts and regular expressions', pattern)
  })
}

export function requireList(option: string, given: unknown): readonly unknown[] {
  if (given === undefined) return []
  if (Array.isArray(given)) return given
  throw mistake('redact', option, 'a list', given)
}

/** Whether `value` is a regular expression, of any realm. */
export function isRegExp(value: unknown): value is RegExp {
  return Object.prototype.toString.call(value) === '[object RegExp]'
}
