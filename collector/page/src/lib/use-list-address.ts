import { useCallback } from 'preact/hooks'
import type { Question } from './feed.ts'
import { go, goBack, hrefWith, route } from './router.ts'
import { withTerm } from './search-line.ts'

export interface ListAddress {
  line: string
  openId: string | undefined
  /** When the open event was received, if the address tells it. */
  openedAt: string | undefined
  question: Question
  /** With `isTyping`, the change adds no step for the back button. */
  setLine(line: string, isTyping?: boolean): void
  addTerm(term: string): void
  open(id: string): void
  close(): void
}

/** The item that an address opens. What is no number in the place of the time counts as no time. */
export function openedBy(params: URLSearchParams): Pick<ListAddress, 'openId' | 'openedAt'> {
  const [id, at = ''] = params.get('open')?.split('@') ?? []
  return { openId: id || undefined, openedAt: /^\d+$/.test(at) ? at : undefined }
}

/** After a restore from a backup, new events get the numbers of those that are gone. So the address tells the time too. */
export function isGone(openedAt: string | undefined, receivedAt: string | undefined): boolean {
  return openedAt !== undefined && receivedAt !== undefined && Number(openedAt) !== Date.parse(receivedAt)
}

const ASKED = ['q', 'from', 'to'] as const

/** The state of a searchable list, stored only in the address. */
export function useListAddress(): ListAddress {
  const { params } = route.value
  const line = params.get('q') ?? ''
  const { openId, openedAt } = openedBy(params)
  const setLine = (next: string, isTyping = false) => go(hrefWith({ q: next }), { replace: isTyping })
  const close = useCallback(() => {
    goBack(hrefWith({ open: undefined }))
    document.querySelector<HTMLElement>('.list')?.focus()
  }, [])
  const question = ASKED.flatMap((name) => {
    const value = params.get(name)
    return value === null || value === '' ? [] : [[name, value] as const]
  })
  return {
    line,
    openId,
    openedAt,
    question: Object.fromEntries(question),
    setLine,
    addTerm: (term) => setLine(withTerm(line, term)),
    open: (id) => go(hrefWith({ open: id }), { replace: openId !== undefined }),
    close,
  }
}
