import { Fragment } from 'preact'
import { Ago, Block, Button, Explanation, Fact, Name, QueryState, Text } from '../components/basics.tsx'
import { copy } from '../components/copy.tsx'
import { type AddTerm, Status, titleOf } from '../components/event-cells.tsx'
import { Panel } from '../components/side-panel.tsx'
import { codeInWords, helpFor, severityOf } from '../lib/basics.ts'
import { capitalised, dateAndTime, duration, exactDateAndTime, plural } from '../lib/format.ts'
import { href, hrefWith } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { EventDetails } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'
import { EventActions } from './event-actions.tsx'
import { EventDeliveries } from './event-deliveries.tsx'
import { EventMessage } from './event-message.tsx'

interface PanelProps {
  id: string
  /** Compared with this event. */
  withId: string | undefined
  onOpen(id: string): void
  addTerm: AddTerm
}

export function EventPanel({ id, withId, onOpen, addTerm }: PanelProps) {
  const query = useQuery<EventDetails>(`api/events/${encodeURIComponent(id)}`)
  const other = useQuery<EventDetails>(withId && `api/events/${encodeURIComponent(withId)}`)
  const shown = query.data?.id === id ? query.data : undefined
  const chosen = other.data?.id === withId ? other.data : undefined
  return (
    <Panel
      label="Event"
      query={query}
      item={shown}
      title={(event) => (
        <>
          <span class="soft">{event.type ?? 'unknown kind'}</span> <Name value={titleOf(event)} />
        </>
      )}
      actions={
        <>
          <Step title="Newer" id={shown?.following} onOpen={onOpen} />
          <Step title="Older" id={shown?.previous} onOpen={onOpen} />
        </>
      }
    >
      {(event) => (
        <Fragment key={event.id}>
          <EventActions event={event} onDone={query.reload} />
          <Explanations event={event} />
          <Facts event={event} addTerm={addTerm} />
          <EventDeliveries outcomes={event.destinations} />
          <Repeats event={event} />
          {other.error !== undefined && <QueryState query={other} />}
          <EventMessage
            event={event}
            // Without a chosen event, the first event with the same messageId, if its content differs.
            other={chosen ?? (event.reason === 'dedup_conflict' ? event.first : null)}
            addTerm={addTerm}
          />
        </Fragment>
      )}
    </Panel>
  )
}

interface StepProps {
  title: string
  id: string | null | undefined
  onOpen(id: string): void
}

function Step({ title, id, onOpen }: StepProps) {
  return (
    <Button class="quiet" disabled={id == null} onClick={() => id != null && onOpen(id)}>
      {title}
    </Button>
  )
}

function Explanations({ event }: { event: EventDetails }) {
  const { reason, first, violations, warnings } = event
  return (
    <>
      {reason !== null && (
        <Explanation
          severity={severityOf(reason)}
          word={codeInWords(reason)}
          meaning={capitalised(helpFor(reason)?.meaning ?? reason)}
        >
          <p>{helpFor(reason)?.remedy}</p>
          {first !== null && (
            <p>
              <a href={hrefWith({ open: first.id })}>The first event with this messageId</a> came{' '}
              <Ago at={first.receivedAt} />. <a href={hrefWith({ with: first.id })}>Compare</a>
            </p>
          )}
        </Explanation>
      )}
      {(warnings ?? []).map((code) => (
        <Explanation
          key={code}
          severity="warning"
          word={codeInWords(code)}
          meaning={capitalised(helpFor(code)?.meaning ?? code)}
        >
          <p>
            {helpFor(code)?.remedy}{' '}
            <a href={href('events', { q: `warning:${code}` })}>All events with this warning</a>
          </p>
        </Explanation>
      ))}
      {violations.length > 0 && (
        <Explanation
          severity="warning"
          word="plan"
          meaning={`${plural(violations.length, 'violation')} of the tracking plan`}
        >
          <ul>
            {violations.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>
                  <Text value={path === '' ? 'message' : path} />
                </code>{' '}
                <Text value={message} />
              </li>
            ))}
          </ul>
        </Explanation>
      )}
    </>
  )
}

interface IdProps {
  field: string
  value: string | null
  addTerm: AddTerm
  link?: string
}

function Id({ field, value, addTerm, link }: IdProps) {
  if (value === null || value === '') return <span class="soft">none</span>
  const term = termFor(field, value)
  return (
    <>
      {link === undefined ? (
        <Text value={value} />
      ) : (
        <a href={link}>
          <Text value={value} />
        </a>
      )}{' '}
      <span class="id-tools">
        <Button
          class="quiet small"
          aria-label={`only these: ${visibleText(term)}`}
          onClick={() => addTerm(term)}
        >
          only these
        </Button>
        <Button
          class="quiet small"
          aria-label={`copy ${visibleText(value)}`}
          onClick={() => copy(value, field === 'source' ? 'Source' : 'Id')}
        >
          copy
        </Button>
      </span>
    </>
  )
}

function Facts({ event, addTerm }: { event: EventDetails; addTerm: AddTerm }) {
  const { userId, anonymousId, messageId, source, timestamp, receivedAt, clockSkewMs } = event
  const request = event.requestDetails
  const lateMs = timestamp === null ? 0 : Date.parse(receivedAt) - Date.parse(timestamp)
  return (
    <dl class="facts">
      <Fact name="Received">
        {exactDateAndTime(receivedAt)}, <Ago at={receivedAt} />
      </Fact>
      {timestamp !== null && (
        <Fact name="Happened">
          {dateAndTime(timestamp)}
          {Math.abs(lateMs) >= 1000 && (
            <span class="soft">
              , {duration(Math.abs(lateMs))} {lateMs > 0 ? 'before it was received' : 'after it was received'}
            </span>
          )}
        </Fact>
      )}
      {clockSkewMs !== null && Math.abs(clockSkewMs) >= 1000 && (
        <Fact name="Clock">
          The client’s clock was {duration(Math.abs(clockSkewMs))} {clockSkewMs > 0 ? 'behind' : 'ahead'}. The
          timestamp was corrected by as much.
        </Fact>
      )}
      <Fact name="userId">
        <Id field="user" value={userId} addTerm={addTerm} link={href('users', { id: userId ?? '' })} />
      </Fact>
      <Fact name="anonymousId">
        <Id
          field="anonymous"
          value={anonymousId}
          addTerm={addTerm}
          link={href('users', { id: anonymousId ?? '' })}
        />
      </Fact>
      <Fact name="messageId">
        <Id field="message" value={messageId} addTerm={addTerm} />
      </Fact>
      <Fact name="Source">
        <Id field="source" value={source} addTerm={addTerm} />
      </Fact>
      {request !== null && (
        <Fact name="Request">
          <a href={href('requests', { open: request.id })}>
            {request.method} <Text value={request.path} />
          </a>{' '}
          <span class="soft">
            {request.status}, {plural(request.events.total, 'event')}
            {request.library !== null && (
              <>
                , <Text value={request.library} />
              </>
            )}
            {request.retryCount !== null && request.retryCount > 0 && `, retry ${request.retryCount}`}
          </span>
        </Fact>
      )}
    </dl>
  )
}

function Repeats({ event: { repeats } }: { event: EventDetails }) {
  if (repeats.length === 0) return null
  return (
    <Block title="The same messageId came again">
      <details open={repeats.length <= 3}>
        <summary>{plural(repeats.length, 'time')}</summary>
        <ul class="plain-list">
          {repeats.map(({ id, receivedAt, reason }) => (
            <li key={id}>
              <a href={hrefWith({ open: id })}>{dateAndTime(receivedAt)}</a> <Status reason={reason} />
            </li>
          ))}
        </ul>
      </details>
    </Block>
  )
}
