import type { ComponentChildren } from 'preact'
import { codeInWords, helpFor, severityOf, skipInWords } from '../lib/basics.ts'
import { dateAndTime, plural } from '../lib/format.ts'
import { isLiteral, termFor } from '../lib/search-line.ts'
import type { DeliveryState, EventSummary, Outcome } from '../lib/types.ts'
import { visibleText } from '../lib/visible-text.ts'
import { Button, Clock, Icon, Name, Pill, Text, TONE_OF_SEVERITY, type Tone } from './basics.tsx'

/** Adds a term to the search box. */
export type AddTerm = (term: string) => void

export function Cell({
  class: className,
  term,
  addTerm,
  title,
  children,
  after,
}: {
  class: string
  term?: string | undefined
  addTerm?: AddTerm | undefined
  title?: string
  children: ComponentChildren
  /** Shown after the value that `term` stands for. */
  after?: ComponentChildren
}) {
  return (
    <span class={`cell ${className}`} role="gridcell" {...(title === undefined ? {} : { title })}>
      <span class="cell-text">{children}</span>
      {term !== undefined && addTerm !== undefined && (
        <Button
          class="narrow"
          tabIndex={-1}
          // Only for the mouse: screen readers should not read a button in every cell. The details of the event offer the same.
          aria-hidden="true"
          title={`Only ${visibleText(term)}`}
          onClick={(event) => {
            event.stopPropagation()
            addTerm(term)
          }}
        >
          <Icon name="search" />
        </Button>
      )}
      {after}
    </span>
  )
}

export function titleOf(event: Pick<EventSummary, 'type' | 'name' | 'userId' | 'anonymousId'>): string {
  if (event.name !== null) return event.name
  if (event.type === 'identify') return event.userId ?? event.anonymousId ?? 'nobody'
  if (event.type === 'batch') return 'refused request'
  return 'without a name'
}

/** What is odd about an event that arrived: a word for its row, the search for others like it, and everything in sentences. */
function oddityOf({ violations, warnings = [] }: EventSummary) {
  const [warning] = warnings
  if (violations === 0 && warning === undefined) return undefined
  const sentences = [
    ...(violations > 0 ? [`${plural(violations, 'violation')} of the tracking plan`] : []),
    ...warnings.map((code) => helpFor(code)?.meaning ?? code),
  ]
  return {
    word: violations > 0 ? 'breaks the plan' : 'has a warning',
    term: violations > 0 ? 'violation:*' : `warning:${warning}`,
    text: sentences.join('\n'),
  }
}

/** A search for the events with the status that the row of this event shows. */
function statusTermOf(event: EventSummary): string {
  return event.reason === null ? (oddityOf(event)?.term ?? 'status:accepted') : `reason:${event.reason}`
}

function RowStatus({ event }: { event: EventSummary }) {
  const oddity = oddityOf(event)
  if (event.reason !== null || oddity === undefined) return <Status reason={event.reason} />
  return (
    <Pill tone="warn" title={`accepted, but:\n${oddity.text}`}>
      {oddity.word}
    </Pill>
  )
}

export function Status({ reason }: { reason: string | null }) {
  if (reason === null) return <span class="state-word">accepted</span>
  const meaning = helpFor(reason)?.meaning
  return (
    <Pill
      tone={TONE_OF_SEVERITY[severityOf(reason)]}
      title={meaning === undefined ? reason : `${reason}: ${meaning}`}
    >
      {codeInWords(reason)}
    </Pill>
  )
}

const SIGNS: Readonly<Record<DeliveryState, string>> = {
  delivered: '✓',
  pending: '…',
  failed: '✕',
  skipped: '–',
}
export const TONE_OF_STATE: Readonly<Record<DeliveryState, Tone>> = {
  delivered: 'good',
  pending: 'info',
  failed: 'bad',
  skipped: 'info',
}

function outcomeInWords({ name, state, reason, attempts }: Outcome): string {
  const why = reason ? `: ${skipInWords(reason)}` : ''
  const often = attempts > 1 ? ` (${attempts} attempts)` : ''
  return `${name}: ${state}${why}${often}`
}

/**
 * For one destination, shows its name. For several, shows the name of the failed destination or the number of failed ones, and
 * then the number of delivered ones. What was delivered is quiet: it is no badge.
 */
function Deliveries({ outcomes }: { outcomes: readonly Outcome[] }) {
  if (outcomes.length === 0) return null
  const failed = outcomes.filter(({ state }) => state === 'failed')
  const wanted = outcomes.filter(({ state }) => state !== 'skipped')
  const arrived = wanted.filter(({ state }) => state === 'delivered').length
  const title = outcomes.map(outcomeInWords).join('\n')
  const only = outcomes.length === 1 ? outcomes[0] : undefined
  if (wanted.length > 0 && arrived === wanted.length) {
    return (
      <span class="state-word" title={title}>
        {only === undefined ? `${arrived} of ${wanted.length}` : <Text value={only.name} />}
      </span>
    )
  }
  if (only !== undefined) {
    return (
      <Pill tone={TONE_OF_STATE[only.state]} title={title}>
        {SIGNS[only.state]} <Text value={only.name} />
      </Pill>
    )
  }
  return (
    <>
      {failed.length > 0 && (
        <Pill tone="bad" title={title}>
          ✕ {failed.length === 1 ? <Text value={failed[0]?.name ?? ''} /> : failed.length}
        </Pill>
      )}
      {wanted.length === 0 ? (
        <Pill tone="info" title={title}>
          – skipped
        </Pill>
      ) : (
        (failed.length === 0 || arrived > 0) && (
          <Pill tone="info" title={title}>
            {arrived} of {wanted.length}
          </Pill>
        )
      )}
    </>
  )
}

function Preview({ event }: { event: EventSummary }) {
  return (
    <span class="preview">
      {event.preview.map(({ path, value }) => (
        <span key={path}>
          <span>
            <Text value={path.replace(/^(?:properties|traits)\./, '')} />
          </span>{' '}
          <Text value={typeof value === 'string' && isLiteral(value) ? `"${value}"` : String(value)} />
        </span>
      ))}
    </span>
  )
}

/** The time of an event: when it was received, or when it happened. */
export type TimeOf = (event: EventSummary) => string

function timesInWords({ receivedAt, timestamp }: EventSummary): string {
  const received = `received ${dateAndTime(receivedAt)}`
  return timestamp === null ? received : `happened ${dateAndTime(timestamp)}\n${received}`
}

interface RowProps {
  event: EventSummary
  timeOf?: TimeOf
  /** The check box of the row, if rows can be chosen. */
  pick?: ComponentChildren
  addTerm?: AddTerm
  /** The link of the event, if the list itself does not handle clicks and keys. */
  href?: string
}

const receivedAtOf: TimeOf = ({ receivedAt }) => receivedAt

export function EventCells({ event, timeOf = receivedAtOf, pick, addTerm, href }: RowProps) {
  const { type, name, userId, anonymousId, source } = event
  const user = userId ?? anonymousId
  const userTerm = user === null ? undefined : termFor(userId === null ? 'anonymous' : 'user', user)
  return (
    <>
      {pick}
      <Cell class="time" title={timesInWords(event)}>
        <Clock at={timeOf(event)} />
      </Cell>
      <Cell class="kind" term={type === null ? undefined : `type:${type}`} addTerm={addTerm}>
        {type ?? '?'}
      </Cell>
      <Cell
        class="name"
        term={name === null ? undefined : termFor('name', name)}
        addTerm={addTerm}
        after={<Preview event={event} />}
      >
        <span class={name === null && type !== 'identify' ? 'title soft' : 'title'}>
          {href === undefined ? (
            <Name value={titleOf(event)} />
          ) : (
            <a href={href}>
              <Name value={titleOf(event)} />
            </a>
          )}
        </span>
      </Cell>
      <Cell class="user" term={userTerm} addTerm={addTerm} title={visibleText(user ?? '')}>
        {user === null ? '–' : <Text value={user} />}
      </Cell>
      <Cell
        class="source"
        term={source === '' ? undefined : termFor('source', source)}
        addTerm={addTerm}
        title={visibleText(source)}
      >
        {source === '' ? '–' : <Text value={source} />}
      </Cell>
      <Cell class="status" term={statusTermOf(event)} addTerm={addTerm}>
        <RowStatus event={event} />
      </Cell>
      <Cell class="deliveries">
        <Deliveries outcomes={event.destinations} />
      </Cell>
    </>
  )
}

/** Whether an event is only a harmless repeat of another. */
export function isRepeat({ status }: Pick<EventSummary, 'status'>): boolean {
  return status === 'repeated'
}
