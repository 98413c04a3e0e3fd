import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { RequestError } from '../lib/http.ts'
import { termsOf, withOpposite, withoutTerm } from '../lib/search-line.ts'
import { visibleText } from '../lib/visible-text.ts'
import { Icon, Problem, Text } from './basics.tsx'

interface SearchProps {
  label: string
  placeholder: string
  line: string
  onLine(line: string, isTyping: boolean): void
  suggestions: readonly string[]
  error: RequestError | undefined
  onRetry(): void
}

const TYPING_MS = 250

/**
 * The search box. Each complete term is shown as a chip. The term that is being typed is shown as text, and already filters the
 * list.
 *
 * Enter turns the typed term into a chip. Backspace in an empty text field turns the last chip back into text.
 */
export function SearchLine({ label, placeholder, line, onLine, suggestions, error, onRetry }: SearchProps) {
  // Only status 400 is about the typed text.
  const isWrong = error?.status === 400
  const [draft, setDraft] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const listId = useId()
  const problemId = useId()
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const join = (standing: string, text: string) => [standing, text.trim()].filter(Boolean).join(' ')
  /** The complete terms, and the search as it was last passed to `onLine`. */
  const own = useRef({ standing: line, line })
  // A change from outside, such as a click on a value or the back button, discards the text that is being typed.
  if (own.current.line !== line) {
    own.current = { standing: line, line }
    if (draft !== '') setDraft('')
  }
  const { standing } = own.current

  const tell = (nextStanding: string, text: string, isTyping: boolean) => {
    clearTimeout(typing.current)
    own.current = { standing: nextStanding, line: join(nextStanding, text) }
    onLine(own.current.line, isTyping)
  }
  const change = (next: string) => tell(next, draft, false)
  useEffect(() => () => clearTimeout(typing.current), [])

  const onKeyDown = (event: KeyboardEvent) => {
    const terms = termsOf(standing)
    const last = terms.at(-1)
    if (event.key === 'Enter') {
      event.preventDefault()
      tell(join(standing, draft), '', false)
      setDraft('')
    } else if (event.key === 'Backspace' && draft === '' && last !== undefined) {
      event.preventDefault()
      tell(withoutTerm(standing, terms.length - 1), last.text, true)
      setDraft(last.text)
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
        {termsOf(standing).map((term, index) => (
          <Chip
            key={`${index} ${term.text}`}
            text={term.text}
            onRemove={() => change(withoutTerm(standing, index))}
            onTurn={() => change(withOpposite(standing, index))}
          />
        ))}
        <input
          ref={input}
          type="text"
          name="search"
          aria-label={label}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? problemId : undefined}
          placeholder={standing === '' ? placeholder : ''}
          autocomplete="off"
          spellcheck={false}
          list={listId}
          value={draft}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            const text = event.currentTarget.value
            setDraft(text)
            clearTimeout(typing.current)
            typing.current = setTimeout(() => tell(standing, text, true), TYPING_MS)
          }}
        />
        <datalist id={listId}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
        {(standing !== '' || draft !== '') && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              setDraft('')
              tell('', '', false)
              input.current?.focus()
            }}
          >
            Clear filter
          </button>
        )}
      </div>
      {error !== undefined &&
        (isWrong ? (
          <SearchProblem id={problemId} line={line} error={error} />
        ) : (
          <Problem error={error} onRetry={onRetry} />
        ))}
    </div>
  )
}

function Chip({ text, onRemove, onTurn }: { text: string; onRemove(): void; onTurn(): void }) {
  if (text === 'OR') return <span class="chip-word">OR</span>
  const isNot = text.startsWith('-')
  return (
    <span class={`chip${isNot ? ' not' : ''}`}>
      <button
        type="button"
        class="chip-text"
        title={
          isNot ? 'Show matching items instead of hiding them' : 'Hide matching items instead of showing them'
        }
        onClick={(event) => {
          event.stopPropagation()
          onTurn()
        }}
      >
        {isNot && <span class="chip-not">not</span>}
        <Text value={isNot ? text.slice(1) : text} />
      </button>
      <button
        type="button"
        class="chip-remove"
        aria-label={`Remove ${visibleText(text)}`}
        onClick={(event) => {
          event.stopPropagation()
          onRemove()
        }}
      >
        <Icon name="close" />
      </button>
    </span>
  )
}

function SearchProblem({ id, line, error }: { id: string; line: string; error: RequestError }) {
  const { span } = error
  return (
    <p class="problem" id={id} role="alert">
      <span>{visibleText(error.message)}</span>
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
