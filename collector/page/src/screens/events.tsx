import { EventCells } from '../components/event-cells.tsx'
import { FeedList } from '../components/feed-list.tsx'
import { ListTools } from '../components/list-tools.tsx'
import { SearchLine } from '../components/search-line.tsx'
import { reasonCodes, warningCodes } from '../lib/basics.ts'
import { Feed } from '../lib/feed.ts'
import { latest } from '../lib/live.ts'
import { quoted, termFor } from '../lib/search-line.ts'
import type { EventPage, EventSummary } from '../lib/types.ts'
import { useFeed } from '../lib/use-feed.ts'
import { useListAddress } from '../lib/use-list-address.ts'
import { EventPanel } from './event-panel.tsx'
import { FirstSteps } from './first-steps.tsx'

const COLUMNS = [
  ['Time', 'time'],
  ['Kind', 'kind'],
  ['Event', 'name'],
  ['User', 'user'],
  ['Source', 'source'],
  ['Status', 'status'],
  ['Destinations', 'deliveries'],
] as const

const FIELDS = ['event', 'user', 'anonymous', 'message', 'source', 'reason', 'type'].map((name) => `${name}:`)
/** From this width in pixels, the search box has room for an example. */
const EXAMPLE_FROM = 860

const isUnsettled = ({ destinations }: EventSummary) => destinations.some(({ state }) => state === 'pending')

export function EventsScreen() {
  const address = useListAddress()
  const { line, openId, question, setLine, addTerm, open, close } = address
  const { feed, onView } = useFeed(
    () =>
      new Feed<EventSummary, EventPage>({
        path: 'api/events',
        countPath: 'api/count',
        pick: ({ events }) => events,
      }),
    question,
    { markOf: ({ head }) => head, isUnsettled },
  )
  return (
    <div class={`split${openId !== undefined ? ' is-open' : ''}`}>
      <FeedList<EventSummary>
        noun="event"
        label="Events, newest first"
        feed={feed}
        address={address}
        timeOf={({ receivedAt }) => receivedAt}
        columns={COLUMNS}
        onView={onView}
        onKey={(event, of) => narrowByKey(event, of, addTerm)}
        whenEmpty={<FirstSteps />}
        tools={(width) => (
          <>
            <SearchLine
              label="Search events"
              placeholder={
                width < EXAMPLE_FROM
                  ? 'Search events'
                  : 'event:"Order Completed" properties.total>100   (press / to search)'
              }
              line={line}
              onLine={setLine}
              suggestions={suggestionsOf(feed.items.value)}
              error={feed.error.value}
              onRetry={() => void feed.reload()}
            />
            <ListTools line={line} question={question} setLine={setLine} />
          </>
        )}
        cells={(event, before) => (
          <EventCells
            event={event}
            isContinued={event.request !== null && event.request === before?.request}
            addTerm={addTerm}
          />
        )}
      />
      {openId !== undefined && <EventPanel id={openId} onClose={close} onOpen={open} addTerm={addTerm} />}
    </div>
  )
}

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

function suggestionsOf(events: readonly EventSummary[]): string[] {
  const names = new Set<string>()
  for (const { type, name } of events.slice(0, 200)) {
    if (name !== null && type === 'track') names.add(`event:${quoted(name)}`)
  }
  const sources = Object.keys(latest.peek()?.stats.bySource ?? {}).filter((name) => name !== '')
  return [
    ...FIELDS,
    'properties.',
    'traits.',
    ...[...names].slice(0, 50),
    ...sources.slice(0, 20).map((name) => termFor('source', name)),
    ...reasonCodes.value.map((code) => `reason:${code}`),
    ...warningCodes.value.map((code) => `warning:${code}`),
    'status:accepted',
    'status:rejected',
    'delivery:failed',
    'delivery:pending',
    'violation:*',
  ]
}
