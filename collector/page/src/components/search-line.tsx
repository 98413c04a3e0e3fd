import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { capitalised } from '../lib/format.ts'
import type { RequestError } from '../lib/http.ts'
import { termsOf, withoutTerm } from '../lib/search-line.ts'
import { isUnfinished, type Suggestion, suggest, withSuggestion } from '../lib/suggest.ts'
import { visibleText } from '../lib/visible-text.ts'
import { Button, Icon, Problem, Text } from './basics.tsx'

interface SearchProps {
  label: string
  placeholder: string
  line: string
  onLine(line: string, isTyping: boolean): void
  suggestions: readonly Suggestion[]
  error: RequestError | undefined
  onRetry(): void
  /** Positions of terms that are shown elsewhere, in a filter of their own. */
  hidden: ReadonlySet<number>
}

const TYPING_MS = 300
/** A mistake is shown when nothing was typed for this time. Half of a term is no mistake yet. */
const JUDGED_AFTER_MS = 1200

/**
 * The search box. Each complete term is shown as a chip. The term that is being typed is shown as text, and already filters the
 * list.
 *
 * Enter turns the typed term into a chip. Backspace in an empty text field turns the last chip back into text.
 */
export function SearchLine(props: SearchProps) {
  const { label, placeholder, line, onLine, error, onRetry, hidden } = props
  const [draft, setDraft] = useState('')
  const [isTyping, setIsTyping] = useState(false)
  /** The suggestion chosen with the arrow keys; -1 = none. `undefined` = the list is closed. */
  const [active, setActive] = useState<number | undefined>(undefined)
  // Only status 400 is about the typed text.
  const isWrong = error?.status === 400 && !isTyping
  const input = useRef<HTMLInputElement>(null)
  const problemId = useId()
  const listId = useId()
  const timers = useRef<Array<ReturnType<typeof setTimeout>>>([])
  const join = (standing: string, text: string) => [standing, text.trim()].filter(Boolean).join(' ')
  const stopTimers = () => {
    for (const timer of timers.current) clearTimeout(timer)
    timers.current = []
  }
  /** The complete terms, and the search as it was last passed to `onLine`. */
  const own = useRef({ standing: line, line })
  // A change from outside, such as a click on a value or the back button, discards the text that is being typed. Its timers
  // would bring it back, over the change.
  if (own.current.line !== line) {
    stopTimers()
    if (isTyping) setIsTyping(false)
    own.current = { standing: line, line }
    if (draft !== '') setDraft('')
  }
  const { standing } = own.current
  const terms = termsOf(standing)
  const shown = terms.flatMap((term, index) => (draft === '' && hidden.has(index) ? [] : [{ term, index }]))
  const found = active === undefined ? [] : suggest(props.suggestions, draft)

  const tell = (nextStanding: string, text: string, isTyped: boolean) => {
    stopTimers()
    if (!isTyped) setIsTyping(false)
    own.current = { standing: nextStanding, line: join(nextStanding, text) }
    onLine(own.current.line, isTyped)
  }
  const change = (next: string) => tell(next, draft, false)
  useEffect(() => stopTimers, [])

  const type = (text: string) => {
    stopTimers()
    setDraft(text)
    setIsTyping(true)
    timers.current = [
      setTimeout(() => {
        if (!isUnfinished(text.trim())) {
          own.current = { standing, line: join(standing, text) }
          onLine(own.current.line, true)
        }
      }, TYPING_MS),
      setTimeout(() => {
        setIsTyping(false)
        own.current = { standing, line: join(standing, text) }
        onLine(own.current.line, true)
      }, JUDGED_AFTER_MS),
    ]
  }
  const finish = () => {
    tell(join(standing, draft), '', false)
    setDraft('')
    setActive(undefined)
  }
  const take = (suggestion: Suggestion) => {
    const text = withSuggestion(draft, suggestion)
    input.current?.focus()
    if (isUnfinished(text)) {
      type(text)
      setActive(-1)
    } else {
      tell(join(standing, text), '', false)
      setDraft('')
      setActive(undefined)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const last = shown.at(-1)
    const chosen = active === undefined ? undefined : found[active]
    if (event.key === 'Enter') {
      event.preventDefault()
      if (chosen === undefined) finish()
      else take(chosen)
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      const step = event.key === 'ArrowDown' ? 1 : -1
      const count = active === undefined ? suggest(props.suggestions, draft).length : found.length
      if (count > 0) setActive(active === undefined ? 0 : ((active + step + 1 + count + 1) % (count + 1)) - 1)
    } else if (event.key === 'Backspace' && draft === '' && last !== undefined) {
      event.preventDefault()
      tell(withoutTerm(standing, last.index), last.term.text, true)
      setDraft(last.term.text)
    } else if (event.key === 'Escape' && found.length > 0) {
      event.preventDefault()
      setActive(undefined)
    } else if (event.key === 'Escape' && draft !== '') {
      event.preventDefault()
      setDraft('')
      tell(standing, '', false)
    }
  }
  return (
    <div class="search">
      <div class={`search-field${isWrong ? ' wrong' : ''}`} onClick={() => input.current?.focus()}>
        <Icon name="search" />
        {shown.map(({ term, index }) => (
          <Chip
            key={`${index} ${term.text}`}
            text={term.text}
            onRemove={() => change(withoutTerm(standing, index))}
          />
        ))}
        <input
          ref={input}
          type="text"
          name="search"
          role="combobox"
          aria-label={label}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? problemId : undefined}
          aria-expanded={found.length > 0}
          aria-autocomplete="list"
          {...(found.length === 0 ? {} : { 'aria-controls': listId })}
          {...(active === undefined || found[active] === undefined
            ? {}
            : { 'aria-activedescendant': `${listId}-${active}` })}
          placeholder={shown.length === 0 ? placeholder : ''}
          autocomplete="off"
          spellcheck={false}
          value={draft}
          onKeyDown={onKeyDown}
          onClick={() => setActive(-1)}
          onBlur={() => setActive(undefined)}
          onInput={(event) => {
            type(event.currentTarget.value)
            setActive(-1)
          }}
        />
        {(standing !== '' || draft !== '') && (
          <Button
            class="quiet"
            onClick={() => {
              setDraft('')
              tell('', '', false)
              input.current?.focus()
            }}
          >
            Clear filter
          </Button>
        )}
      </div>
      {found.length > 0 && (
        <div class="suggestions" role="listbox" id={listId} aria-label="Suggestions">
          {found.map((one, index) => (
            <div
              key={one.text}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === active}
              // Before the field loses the focus, which closes the list.
              onMouseDown={(event) => {
                event.preventDefault()
                take(one)
              }}
            >
              <code>
                <Text value={one.text} />
              </code>
              <span class="soft">{one.hint}</span>
            </div>
          ))}
        </div>
      )}
      {error !== undefined &&
        (error.status === 400 ? (
          isWrong && <SearchProblem id={problemId} line={line} error={error} />
        ) : (
          <Problem error={error} onRetry={onRetry} />
        ))}
    </div>
  )
}

function Chip({ text, onRemove }: { text: string; onRemove(): void }) {
  if (text === 'OR') return <span class="chip-word">OR</span>
  const isNot = text.startsWith('-')
  return (
    <span class={`chip${isNot ? ' not' : ''}`}>
      <span class="chip-text">
        {isNot && <span class="chip-not">not</span>}
        <Text value={isNot ? text.slice(1) : text} />
      </span>
      <Button
        class="chip-remove"
        aria-label={`Remove ${visibleText(text)}`}
        onClick={(event) => {
          event.stopPropagation()
          onRemove()
        }}
      >
        <Icon name="close" />
      </Button>
    </span>
  )
}

function SearchProblem({ id, line, error }: { id: string; line: string; error: RequestError }) {
  const { span } = error
  return (
    <p class="problem" id={id} role="alert">
      <span>{capitalised(visibleText(error.message))}</span>
      {span !== undefined && span.position <= line.length && (
        <code>
          <Text value={line.slice(Math.max(0, span.position - 20), span.position)} />
          <mark>
            <Text value={line.slice(span.position, span.position + Math.max(1, span.length)) || '␣'} />
          </mark>
        </code>
      )}
    </p>
  )
}
