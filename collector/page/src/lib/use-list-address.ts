import type { Question } from './feed.ts'
import { go, hrefWith, route } from './router.ts'
import { withTerm } from './search-line.ts'

export interface ListAddress {
  line: string
  openId: string | undefined
  /** The event that the open one is compared with. */
  withId: string | undefined
  question: Question
  /** With `isTyping`, the change adds no step for the back button. */
  setLine(line: string, isTyping?: boolean): void
  addTerm(term: string): void
  /** Opens an item, beside another one if there is `withId`. */
  open(id: string, withId?: string): void
}

const ASKED = ['q', 'from', 'to'] as const

/** The state of a searchable list, stored only in the address. */
export function useListAddress(): ListAddress {
  const { params } = route.value
  const line = params.get('q') ?? ''
  const openId = params.get('open') || undefined
  const setLine = (next: string, isTyping = false) => go(hrefWith({ q: next }), { replace: isTyping })
  const question = ASKED.flatMap((name) => {
    const value = params.get(name)
    return value === null || value === '' ? [] : [[name, value] as const]
  })
  return {
    line,
    openId,
    withId: params.get('with') || undefined,
    question: Object.fromEntries(question),
    setLine,
    addTerm: (term) => setLine(withTerm(line, term)),
    open: (id, withId) => go(hrefWith({ open: id, with: withId }), { replace: openId !== undefined }),
  }
}
