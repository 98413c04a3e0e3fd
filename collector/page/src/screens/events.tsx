import { useSignal, useSignalEffect } from '@preact/signals'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import { Icon, Nothing } from '../components/basics.tsx'
import { EventCells } from '../components/event-cells.tsx'
import { ListTools } from '../components/list-tools.tsx'
import { SearchLine } from '../components/search-line.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { reasonCodes } from '../lib/basics.ts'
import { Feed, type Question } from '../lib/feed.ts'
import { dayKey, dayName, plural } from '../lib/format.ts'
import { connection, latest, today } from '../lib/live.ts'
import { go, goBack, hrefWith, route } from '../lib/router.ts'
import { quoted, termFor, withTerm } from '../lib/search-line.ts'
import { isPaused } from '../lib/settings.ts'
import type { EventPage, EventSummary } from '../lib/types.ts'
import { useWidth } from '../lib/use-width.ts'
import { EventPanel } from './event-panel.tsx'
import { FirstSteps } from './first-steps.tsx'

type Item =
  | { kind: 'day'; key: string; label: string }
  | { kind: 'event'; key: string; event: EventSummary; isContinued: boolean }

const FIELDS = [
  'event:',
  'user:',
  'anonymous:',
  'message:',
  'source:',
  'reason:',
  'type:',
  'properties.',
  'traits.',
]
/** Below this width of the list a row has two lines. */
const TWO_LINES_BELOW = 760

/** The events with a separator for each day; the rows of one request belong together. */
function itemsOf(events: readonly EventSummary[], nowMs: number): Item[] {
  const items: Item[] = []
  let before: EventSummary | undefined
  for (const event of events) {
    const key = dayKey(event.receivedAt)
    const isNewDay = before === undefined || dayKey(before.receivedAt) !== key
    if (isNewDay) items.push({ kind: 'day', key: `day ${key}`, label: dayName(event.receivedAt, nowMs) })
    const isContinued = !isNewDay && event.request !== null && event.request === before?.request
    items.push({ kind: 'event', key: event.id, event, isContinued })
    before = event
  }
  return items
}

/** What the address asks for. */
function questionOf(params: URLSearchParams): Question {
  const names = ['q', 'from', 'to']
  return Object.fromEntries(
    names.flatMap((name) => (params.get(name) ? [[name, params.get(name) ?? '']] : [])),
  )
}

function useFeed(question: Question) {
  const feed = useMemo(
    () =>
      new Feed<EventSummary, EventPage>({
        path: 'api/events',
        countPath: 'api/count',
        pick: ({ events }) => events,
      }),
    [],
  )
  const isHeld = useRef(false)
  const visible = useRef<readonly EventSummary[]>([])
  const seen = useRef({ epoch: -1, head: '', revision: -1 })
  const key = JSON.stringify(question)
  useEffect(() => {
    seen.current.head = ''
    void feed.ask(question)
  }, [feed, key])
  useEffect(() => () => feed.close(), [feed])
  useSignalEffect(() => {
    const message = latest.value
    const paused = isPaused.value
    if (message === undefined) return
    const { epoch, head, revision } = seen.current
    seen.current = message
    if (epoch !== message.epoch && epoch !== -1) return void feed.reload()
    const wasHeld = feed.waiting.peek() > 0 && !paused && !isHeld.current
    if (head !== message.head || wasHeld) void feed.follow(paused || isHeld.current)
    const waits = visible.current.some(({ destinations }) =>
      destinations.some(({ state }) => state === 'pending'),
    )
    if (revision !== message.revision && waits && !paused) void feed.refresh(visible.current)
  })
  useSignalEffect(() => {
    if (connection.value === 'live' && feed.error.peek()?.status === 0) void feed.reload()
  })
  return { feed, isHeld, visible }
}

export function EventsScreen() {
  const { params } = route.value
  const line = params.get('q') ?? ''
  const openId = params.get('open') ?? undefined
  const question = questionOf(params)
  const { feed, isHeld, visible } = useFeed(question)
  const selected = useSignal<string | undefined>(openId)
  const [box, width] = useWidth<HTMLDivElement>()
  const events = feed.items.value
  const items = useMemo(() => itemsOf(events, Date.now()), [events, today.value])
  const isTwoLine = width > 0 && width < TWO_LINES_BELOW

  useEffect(() => {
    if (openId !== undefined) selected.value = openId
  }, [openId, selected])
  const setLine = (next: string, isTyping = false) => go(hrefWith({ q: next }), { replace: isTyping })
  const addTerm = (term: string) => setLine(withTerm(line, term))
  const open = (id: string) => go(hrefWith({ open: id }), { replace: openId !== undefined })
  const close = useCallback(() => {
    goBack(hrefWith({ open: undefined }))
    document.querySelector<HTMLElement>('.list')?.focus()
  }, [])

  const isFiltered = Object.keys(question).length > 0
  const isEmpty = events.length === 0 && !feed.isStale.value && !feed.isLoading.value
  return (
    <div class={`split${openId !== undefined ? ' is-open' : ''}`}>
      <section class="events" aria-label="Events" ref={box}>
        <div class="tools">
          <SearchLine
            label="Search events"
            placeholder={
              width < 860
                ? 'Search events'
                : 'event:"Order Completed" properties.total>100   (press / to search)'
            }
            line={line}
            onLine={setLine}
            suggestions={suggestionsOf(events)}
            error={feed.error.value}
          />
          <ListTools line={line} question={question} setLine={setLine} />
        </div>
        <Summary feed={feed} question={question} />
        {isEmpty && feed.error.value === undefined ? (
          isFiltered ? (
            <Nothing title="No event matches">
              <p>
                <a class="button" href={hrefWith({ q: undefined, from: undefined, to: undefined })}>
                  Show all events
                </a>
              </p>
            </Nothing>
          ) : (
            <FirstSteps />
          )
        ) : (
          <VirtualList<Item>
            label="Events, newest first"
            items={items}
            keyOf={({ key }) => key}
            isRow={({ kind }) => kind === 'event'}
            heightOf={({ kind }) => (kind === 'day' ? 28 : isTwoLine ? 54 : 30)}
            selectedKey={selected.value}
            isStale={feed.isStale.value}
            onSelect={(item, isOpened) => {
              if (item.kind !== 'event') return
              selected.value = item.key
              if (isOpened || openId !== undefined) open(item.key)
            }}
            onKey={(event, item) => {
              if (item?.kind === 'event') narrowByKey(event, item.event, addTerm)
            }}
            onNearEnd={() => void feed.loadOlder()}
            onView={(isAtTop, inSight) => {
              isHeld.current = !isAtTop
              visible.current = inSight.flatMap((item) => (item.kind === 'event' ? [item.event] : []))
              if (isAtTop && !isPaused.peek() && feed.waiting.peek() > 0) void feed.follow(false)
            }}
            head={isTwoLine ? undefined : <Columns />}
            render={(item) =>
              item.kind === 'day' ? (
                <span role="gridcell" class="day">
                  {item.label}
                </span>
              ) : (
                <EventCells event={item.event} isContinued={item.isContinued} addTerm={addTerm} />
              )
            }
          />
        )}
      </section>
      {openId !== undefined && <EventPanel id={openId} onClose={close} onOpen={open} addTerm={addTerm} />}
    </div>
  )
}

function Columns() {
  return (
    <div class="columns" role="row">
      {['Time', 'Kind', 'Event', 'User', 'Source', 'Status', 'Destinations'].map((name) => (
        <span key={name} role="columnheader" class={`cell ${COLUMN_CLASSES[name]}`}>
          {name}
        </span>
      ))}
    </div>
  )
}
const COLUMN_CLASSES: Readonly<Record<string, string>> = {
  Time: 'time',
  Kind: 'kind',
  Event: 'name',
  User: 'user',
  Source: 'source',
  Status: 'status',
  Destinations: 'deliveries',
}

/** `e`, `u`, `s` and `r` narrow the list to the event, user, source or reason of the current row. */
function narrowByKey(event: KeyboardEvent, of: EventSummary, addTerm: (term: string) => void): void {
  const terms: Record<string, string | null> = {
    e: of.name === null ? null : termFor('name', of.name),
    u:
      of.userId !== null
        ? termFor('user', of.userId)
        : of.anonymousId && termFor('anonymous', of.anonymousId),
    s: of.source === '' ? null : termFor('source', of.source),
    r: of.reason === null ? 'status:accepted' : `reason:${of.reason}`,
  }
  const term = terms[event.key]
  if (term === undefined || term === null) return
  event.preventDefault()
  addTerm(term)
}

/** What can be completed in the search line: fields, and what is in sight or known. */
function suggestionsOf(events: readonly EventSummary[]): string[] {
  const stats = latest.peek()?.stats
  const names = new Set<string>()
  for (const { type, name } of events.slice(0, 200)) {
    if (name !== null && type === 'track') names.add(`event:${quoted(name)}`)
  }
  return [
    ...FIELDS,
    ...[...names].slice(0, 50),
    ...Object.keys(stats?.bySource ?? {})
      .filter((name) => name !== '')
      .slice(0, 20)
      .map((name) => termFor('source', name)),
    ...reasonCodes.value.map((code) => `reason:${code}`),
    'status:accepted',
    'status:rejected',
    'delivery:failed',
    'delivery:pending',
    'violation:*',
  ]
}

/** How much there is, what the list is doing, and what has come that is not shown. */
function Summary({ feed, question }: { feed: Feed<EventSummary, EventPage>; question: Question }) {
  const waiting = feed.waiting.value
  const showNew = () => {
    document.querySelector('.list')?.scrollTo({ top: 0 })
    isPaused.value = false
    void feed.follow(false)
  }
  const shown = feed.items.value.length
  const { from, to } = question
  return (
    <div class="summary">
      <p role="status">
        {feed.error.value !== undefined
          ? 'The rows below belong to an earlier search.'
          : feed.isLoading.value
            ? 'Searching…'
            : feed.searchedTo.value !== null
              ? `${plural(shown, 'event')} so far; searched back to ${dayName(feed.searchedTo.value, Date.now())}`
              : `${plural(shown, 'event')}${feed.hasMore.value ? ' loaded, more below' : ''}`}
      </p>
      {(from !== undefined || to !== undefined) && (
        <a class="chip" href={hrefWith({ from: undefined, to: undefined })} title="Show all times">
          <span class="chip-text">{rangeInWords(from, to)}</span>
          <Icon name="close" />
        </a>
      )}
      {waiting > 0 && (
        <button type="button" class="new-events" onClick={showNew}>
          <Icon name="up" /> {plural(waiting, 'new event')}
        </button>
      )}
    </div>
  )
}

function rangeInWords(from: string | undefined, to: string | undefined): string {
  const word = (at: string) =>
    /^-/.test(at) ? `the last ${at.slice(1)}` : new Date(at).toLocaleString('en-GB')
  if (from !== undefined && to !== undefined) return `${word(from)} to ${word(to)}`
  return from === undefined
    ? `before ${word(to ?? '')}`
    : /^-/.test(from)
      ? word(from)
      : `since ${word(from)}`
}
