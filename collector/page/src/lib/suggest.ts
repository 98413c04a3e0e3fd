import { termsOf } from './search-line.ts'

/** A term, or the beginning of a term, for the search line. */
export interface Suggestion {
  text: string
  /** What the text means, in a few words. */
  hint: string
}

const SHOWN = 8

/** The last term of the text, which is the one that is being typed. */
export function typedTerm(draft: string): string {
  return /\s$/.test(draft) ? '' : (termsOf(draft).at(-1)?.text ?? '')
}

/** Returns the suggestions that begin with the typed term; after them, those that contain it. */
export function suggest(all: readonly Suggestion[], draft: string): Suggestion[] {
  const typed = typedTerm(draft).toLowerCase().replace(/^-/, '')
  const plain = (text: string) => text.toLowerCase().replaceAll('"', '')
  const wanted = plain(typed)
  const begin: Suggestion[] = []
  const contain: Suggestion[] = []
  for (const one of all) {
    const text = plain(one.text)
    // A whole term is listed only if its field is typed, so that the fields come first.
    if (wanted === '' && !/[:.]$/.test(one.text)) continue
    if (text === wanted) continue
    if (text.startsWith(wanted)) begin.push(one)
    else if (wanted.length > 1 && text.includes(wanted)) contain.push(one)
  }
  return [...begin, ...contain].slice(0, SHOWN)
}

/** Puts the suggestion in the place of the typed term, and keeps its minus sign. */
export function withSuggestion(draft: string, { text }: Suggestion): string {
  const typed = typedTerm(draft)
  const before = draft.slice(0, draft.length - typed.length)
  return `${before}${typed.startsWith('-') ? '-' : ''}${text}`
}

/** Whether the text ends in the middle of a term, so that it means nothing yet: `event:`, `a>`, `"open`, `-`. */
export function isUnfinished(draft: string): boolean {
  const quotes = draft.replace(/\\./g, '').split('"').length - 1
  return quotes % 2 === 1 || /[:<>=!(,.-]$/.test(draft)
}
