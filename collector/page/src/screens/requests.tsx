import { useSignal, useSignalEffect } from '@preact/signals'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import { Icon, Nothing, Pill, Text, toneOfStatus } from '../components/basics.tsx'
import { Cell } from '../components/event-cells.tsx'
import { SearchLine } from '../components/search-line.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { Feed } from '../lib/feed.ts'
import { bytes, clock, dateAndTime, dayKey, dayName, duration, plural } from '../lib/format.ts'
import { connection, latest } from '../lib/live.ts'
import { go, goBack, hrefWith, route } from '../lib/router.ts'
import { termFor, withTerm } from '../lib/search-line.ts'
import { isPaused } from '../lib/settings.ts'
import type { RequestPage, RequestSummary } from '../lib/types.ts'
import { useWidth } from '../lib/use-width.ts'
import { FirstSteps } from './first-steps.tsx'
import { RequestPanel } from './request-panel.tsx'

type Item =
  | { kind: 'day'; key: string; label: string }
  | { kind: 'request'; key: string; request: RequestSummary }

const SUGGESTIONS = [
  'status>=400',
  'status:200',
  'path:/v1/batch',
  'method:POST',
  'retries>0',
  'events>1',
  'duration>100',
  'source:',
  'address:',
  'agent:',
  'library:',
  'fault:*',
]
const TWO_LINES_BELOW = 760

function itemsOf(requests: readonly RequestSummary[], nowMs: number): Item[] {
  const items: Item[] = []
  let day: string | undefined
  for (const request of requests) {
    const key = dayKey(request.at)
    if (key !== day) items.push({ kind: 'day', key: `day ${key}`, label: dayName(request.at, nowMs) })
    items.push({ kind: 'request', key: request.id, request })
    day = key
  }
  return items
}

function useRequests(q: string, from: string | undefined) {
  const feed = useMemo(
    () => new Feed<RequestSummary, RequestPage>({ path: 'api/requests', pick: ({ requests }) => requests }),
    [],
  )
  const isHeld = useRef(false)
  const seen = useRef({ epoch: -1, requests: -1 })
  useEffect(() => {
    void feed.ask({ ...(q === '' ? {} : { q }), ...(from === undefined ? {} : { from }) })
  }, [feed, q, from])
  useEffect(() => () => feed.close(), [feed])
  useSignalEffect(() => {
    const message = latest.value
    const paused = isPaused.value
    if (message === undefined) return
    const before = seen.current
    seen.current = { epoch: message.epoch, requests: message.stats.requests }
    if (before.epoch !== message.epoch && before.epoch !== -1) return void feed.reload()
    const wasHeld = feed.waiting.peek() > 0 && !paused && !isHeld.current
    if (before.requests !== message.stats.requests || wasHeld) void feed.follow(paused || isHeld.current)
  })
  useSignalEffect(() => {
    if (connection.value === 'live' && feed.error.peek()?.status === 0) void feed.reload()
  })
  return { feed, isHeld }
}

/** Every request, the refused ones above all. */
export function RequestsScreen() {
  const { params } = route.value
  const line = params.get('q') ?? ''
  const from = params.get('from') ?? undefined
  const openId = params.get('open') ?? undefined
  const { feed, isHeld } = useRequests(line, from)
  const selected = useSignal<string | undefined>(openId)
  const [box, width] = useWidth<HTMLDivElement>()
  const requests = feed.items.value
  const items = useMemo(() => itemsOf(requests, Date.now()), [requests])
  const isTwoLine = width > 0 && width < TWO_LINES_BELOW
  const setLine = (next: string, isTyping = false) => go(hrefWith({ q: next }), { replace: isTyping })
  const addTerm = (term: string) => setLine(withTerm(line, term))
  const open = (id: string) => go(hrefWith({ open: id }), { replace: openId !== undefined })
  const close = useCallback(() => {
    goBack(hrefWith({ open: undefined }))
    document.querySelector<HTMLElement>('.list')?.focus()
  }, [])
  const isEmpty = requests.length === 0 && !feed.isStale.value
  const waiting = feed.waiting.value
  return (
    <div class={`split${openId !== undefined ? ' is-open' : ''}`}>
      <section class="requests" aria-label="Requests" ref={box}>
        <div class="tools">
          <SearchLine
            label="Search requests"
            placeholder="status>=400 path:/v1/batch"
            line={line}
            onLine={setLine}
            suggestions={SUGGESTIONS}
            error={feed.error.value}
          />
        </div>
        <div class="summary">
          <p role="status">
            {feed.isLoading.value
              ? 'Searching…'
              : `${plural(requests.length, 'request')}${feed.hasMore.value ? ' loaded, more below' : ''}`}
          </p>
          {from !== undefined && (
            <a class="chip" href={hrefWith({ from: undefined })} title="Show all times">
              <span class="chip-text">
                {from.startsWith('-') ? `the last ${from.slice(1)}` : `since ${from}`}
              </span>
              <Icon name="close" />
            </a>
          )}
          {waiting > 0 && (
            <button
              type="button"
              class="new-events"
              onClick={() => {
                document.querySelector('.list')?.scrollTo({ top: 0 })
                isPaused.value = false
                void feed.follow(false)
              }}
            >
              <Icon name="up" /> {plural(waiting, 'new request')}
            </button>
          )}
        </div>
        {isEmpty && feed.error.value === undefined ? (
          line === '' ? (
            <FirstSteps />
          ) : (
            <Nothing title="No request matches">
              <a class="button" href={hrefWith({ q: undefined, from: undefined })}>
                Show all requests
              </a>
            </Nothing>
          )
        ) : (
          <VirtualList<Item>
            label="Requests, newest first"
            items={items}
            keyOf={({ key }) => key}
            isRow={({ kind }) => kind === 'request'}
            heightOf={({ kind }) => (kind === 'day' ? 28 : isTwoLine ? 54 : 30)}
            selectedKey={selected.value}
            isStale={feed.isStale.value}
            onSelect={(item, isOpened) => {
              selected.value = item.key
              if (isOpened || openId !== undefined) open(item.key)
            }}
            onNearEnd={() => void feed.loadOlder()}
            onView={(isAtTop) => {
              isHeld.current = !isAtTop
              if (isAtTop && !isPaused.peek() && feed.waiting.peek() > 0) void feed.follow(false)
            }}
            head={isTwoLine ? undefined : <Columns />}
            render={(item) =>
              item.kind === 'day' ? (
                <span role="gridcell" class="day">
                  {item.label}
                </span>
              ) : (
                <RequestCells request={item.request} addTerm={addTerm} isTwoLine={isTwoLine} />
              )
            }
          />
        )}
      </section>
      {openId !== undefined && <RequestPanel id={openId} onClose={close} />}
    </div>
  )
}

const COLUMNS = [
  ['Time', 'time'],
  ['Status', 'http'],
  ['Request', 'path'],
  ['Events', 'count'],
  ['Source', 'source'],
  ['Client', 'client'],
  ['Size', 'size'],
  ['Took', 'took'],
] as const

function Columns() {
  return (
    <div class="columns" role="row">
      {COLUMNS.map(([title, name]) => (
        <span key={name} role="columnheader" class={`cell ${name}`}>
          {title}
        </span>
      ))}
    </div>
  )
}

interface CellsProps {
  request: RequestSummary
  addTerm(term: string): void
  /** Without a heading, a number says what it counts. */
  isTwoLine: boolean
}

function RequestCells({ request, addTerm, isTwoLine }: CellsProps) {
  const { at, status, method, path, code, problem, events, source, library, userAgent } = request
  const client = library ?? userAgent
  return (
    <>
      <Cell class="time" title={dateAndTime(at)}>
        {clock(at)}
      </Cell>
      <Cell class="http" term={`status:${status}`} addTerm={addTerm}>
        <Pill tone={toneOfStatus(status)}>{status === 0 ? 'none' : status}</Pill>
      </Cell>
      <Cell class="path" term={termFor('path', path)} addTerm={addTerm}>
        <span class="soft">{method}</span>{' '}
        <span class="title">
          <Text value={path} />
        </span>{' '}
        {code !== null && (
          <span class="bad-text" title={problem?.message ?? code}>
            {code}
          </span>
        )}
        {request.fault !== null && <Pill tone="info">fault</Pill>}
        {request.retryCount !== null && request.retryCount > 0 && (
          <Pill tone="warn">retry {request.retryCount}</Pill>
        )}
      </Cell>
      <Cell class="count">
        {events.total === 0 ? (
          <span class="soft">–</span>
        ) : (
          <>
            {isTwoLine ? plural(events.total, 'event') : events.total}
            {events.rejected > 0 && <span class="bad-text"> ({events.rejected} not accepted)</span>}
          </>
        )}
      </Cell>
      <Cell class="source" term={source ? termFor('source', source) : undefined} addTerm={addTerm}>
        {source ? <Text value={source} /> : '–'}
      </Cell>
      <Cell
        class="client"
        term={library !== null ? termFor('library', library) : undefined}
        addTerm={addTerm}
        title={userAgent ?? ''}
      >
        {client === null ? '–' : <Text value={client} />}
      </Cell>
      <Cell class="size">{request.bodyBytes === null ? '–' : bytes(request.bodyBytes)}</Cell>
      <Cell class="took">{request.durationMs === null ? '–' : duration(request.durationMs)}</Cell>
    </>
  )
}
