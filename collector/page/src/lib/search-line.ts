export interface Term {
  text: string
  start: number
  end: number
}

/**
 * Splits a search into its top-level terms, which only the collector interprets. Spaces inside quotes and brackets do not
 * separate terms.
 */
export function termsOf(line: string): Term[] {
  const terms: Term[] = []
  let start = -1
  let depth = 0
  let isQuoted = false
  for (let i = 0; i <= line.length; i++) {
    const character = line[i]
    if (isQuoted) {
      if (character === '\\') i++
      else if (character === '"') isQuoted = false
      if (i < line.length) continue
    }
    const isBlank = character === undefined || (depth === 0 && /\s/.test(character))
    if (isBlank) {
      if (start >= 0) terms.push({ text: line.slice(start, Math.min(i, line.length)), start, end: i })
      start = -1
      continue
    }
    if (start < 0) start = i
    if (character === '"') isQuoted = true
    else if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
  }
  return terms
}

const PLAIN = /^[\p{L}\p{N}_.@/+][\p{L}\p{N}_.@/+-]*$/u
/** Text that the collector would read as a number, another JSON value or a keyword. */
const LITERAL = /^(?:[-+]?\d[\d.eE+-]*|true|false|null|or)$/i

/** Whether a text looks like a value of another type: "49", "true". Such a text is always shown in quotes. */
export function isLiteral(text: string): boolean {
  return LITERAL.test(text)
}

/** Writes a text for a search, in quotes if it would otherwise be read as something else. */
export function quoted(text: string): string {
  if (PLAIN.test(text) && !LITERAL.test(text)) return text
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Returns the term that finds the items whose field has exactly this value. */
export function termFor(field: string, value: unknown): string {
  return `${field}:${typeof value === 'string' ? quoted(value) : String(value)}`
}

/** Adds a term at the end of the search, unless the search already has that term. Removes the opposite term. */
export function withTerm(line: string, term: string): string {
  const opposite = term.startsWith('-') ? term.slice(1) : `-${term}`
  const kept = termsOf(line).map(({ text }) => text)
  if (kept.includes(term)) return line
  const others = kept.filter((text) => text !== opposite)
  // Adjacent terms bind more tightly than OR, so a search with OR gets brackets.
  const isEither = others.includes('OR')
  return isEither ? `(${others.join(' ')}) ${term}` : [...others, term].join(' ')
}

export function withoutTerm(line: string, index: number): string {
  return termsOf(line)
    .filter((_, at) => at !== index)
    .map(({ text }) => text)
    .join(' ')
}
