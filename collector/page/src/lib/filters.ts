import { termsOf } from './search-line.ts'

/** What a menu can set. */
export interface FilterOption {
  text: string
  term: string
  count?: number
  /** Shown as a part of the option above. */
  isPart?: boolean
}

/** A part of the search that has a menu of its own: one term with one of these fields. */
export interface Filter {
  title: string
  fields: readonly string[]
  /** Terms in brackets that belong to it too. */
  whole?: string
  options: readonly FilterOption[]
  /** Words for a term that is none of the options. Default: its value. */
  wordsOf?(term: string): string
}

const FIELD = /^([a-z]+):./

/**
 * Returns the term of the search that a filter stands for, with its position among the terms; undefined if there is none. A
 * search with `OR`, with two terms of the same filter, or with a negated term says more than a filter can show: such terms are
 * shown in the search line only.
 */
export function filterTerm(line: string, filter: Filter): { text: string; index: number } | undefined {
  const terms = termsOf(line)
  if (terms.some(({ text }) => text === 'OR')) return undefined
  const found = terms.flatMap(({ text }, index) =>
    filter.fields.includes(FIELD.exec(text)?.[1] ?? '') || text === filter.whole ? [{ text, index }] : [],
  )
  return found.length === 1 ? found[0] : undefined
}

/** Replaces the term of a filter. `undefined` removes it. */
export function withFilter(line: string, filter: Filter, term: string | undefined): string {
  const own = filterTerm(line, filter)
  const kept = termsOf(line).flatMap(({ text }, index) => (index === own?.index ? [] : [text]))
  const isEither = kept.includes('OR')
  const rest = isEither && term !== undefined ? `(${kept.join(' ')})` : kept.join(' ')
  return [rest, term].filter(Boolean).join(' ')
}
