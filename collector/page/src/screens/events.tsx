import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { TEXT_FIELDS } from '../../../src/record.ts'
import { EventCells, isRepeat } from '../components/event-cells.tsx'
import { type Column, FeedList } from '../components/feed-list.tsx'
import { byCount, sourceFilter } from '../components/filter-menu.tsx'
import { ExportMenu } from '../components/list-tools.tsx'
import { DeleteButton, PickBox, PickedBar, pick } from '../components/picked.tsx'
import { codeInWords, helpFor, reasonCodes, warningCodes } from '../lib/basics.ts'
import { matchingIds } from '../lib/chosen.ts'
import type { Filter, FilterOption } from '../lib/filters.ts'
import { latest } from '../lib/live.ts'
import { quoted, termFor } from '../lib/search-line.ts'
import type { Suggestion } from '../lib/suggest.ts'
import type { EventSummary } from '../lib/types.ts'
import { useFeed } from '../lib/use-feed.ts'
import { useListAddress } from '../lib/use-list-address.ts'
import { EventPanel } from './event-panel.tsx'

const LOST = '(status:rejected OR delivery:failed)'

const isUnsettled = ({ destinations }: EventSummary) => destinations.some(({ state }) => state === 'pending')

export function EventsScreen() {
  const address = useListAddress()
  const { openId, withId, question, addTerm, open } = address
  const picked = useSignal<ReadonlyMap<string, EventSummary>>(new Map())
  const list = useFeed('events', question, isUnsettled)
  const { feed } = list
  const key = JSON.stringify(question)
  useEffect(() => {
    picked.value = new Map()
  }, [key])
  const columns: readonly Column[] = [
    [<PickBox key="all" feed={feed} picked={picked} />, 'pick'],
    ['Received', 'time'],
    ['Kind', 'kind'],
    ['Event', 'name'],
    ['User', 'user'],
    ['Source', 'source'],
    ['Status', 'status'],
    ['Destinations', 'deliveries'],
  ]
  // Without a filter, the menu of the page deletes everything.
  const isFiltered = Object.keys(question).length > 0
  return (
    <FeedList<EventSummary>
      noun="event"
      example='event:"Order Completed" properties.total>100'
      class={picked.value.size > 0 ? 'is-picking' : ''}
      list={list}
      address={address}
      timeOf={({ receivedAt }) => receivedAt}
      columns={columns}
      filters={[kindFilter(), sourceFilter(), statusFilter()]}
      suggestions={suggestionsOf(feed.items.value)}
      bar={picked.value.size > 0 ? <PickedBar feed={feed} picked={picked} onCompare={open} /> : undefined}
      onKey={(event, of) => {
        if (event.key === 'x') pick(picked, [of], !picked.value.has(of.id))
      }}
      rowClass={(event) =>
        [
          feed.fresh.value.has(event.id) && 'is-new',
          picked.value.has(event.id) && 'is-checked',
          isRepeat(event) && 'is-repeat',
        ]
          .filter(Boolean)
          .join(' ')
      }
      actions={
        <>
          <ExportMenu question={question} />
          {isFiltered && picked.value.size === 0 && (
            <DeleteButton find={() => matchingIds(question)} onDone={() => void feed.reload()} />
          )}
        </>
      }
      cells={(event) => (
        <EventCells
          event={event}
          pick={<PickBox event={event} feed={feed} picked={picked} />}
          addTerm={addTerm}
        />
      )}
      panel={
        openId !== undefined && <EventPanel id={openId} withId={withId} onOpen={open} addTerm={addTerm} />
      }
    />
  )
}

function kindFilter(): Filter {
  const options = byCount(latest.value?.stats.byType).map(([name, count]) => ({
    text: name === 'batch' ? 'refused requests' : name,
    term: `type:${name}`,
    count,
  }))
  return { title: 'Kind', fields: ['type'], options }
}

function statusFilter(): Filter {
  const fields = ['status', 'reason', 'delivery', 'warning', 'violation']
  return { title: 'Status', fields, whole: LOST, options: states(), wordsOf: stateInWords }
}

function states(): FilterOption[] {
  const stats = latest.value?.stats
  if (stats === undefined) return []
  const { accepted, rejected, repeated, byReason } = stats
  const { duplicate: _, ...refused } = byReason
  return [
    { text: 'did not arrive', term: LOST },
    { text: 'accepted', term: 'status:accepted', count: accepted },
    { text: 'not accepted', term: 'status:rejected', count: rejected },
    ...byCount(refused).map(([code, count]) => ({
      text: codeInWords(code),
      term: `reason:${code}`,
      count,
      isPart: true,
    })),
    ...(repeated > 0 ? [{ text: 'duplicate', term: 'status:repeated', count: repeated }] : []),
    { text: 'a delivery was given up', term: 'delivery:failed' },
    { text: 'a delivery is waiting', term: 'delivery:pending' },
    { text: 'breaks the tracking plan', term: 'violation:*' },
    { text: 'has a warning', term: 'warning:*' },
  ]
}

/** The words of the rows, also for a code that is not in the menu: `warning:timestamp_zone` is "no time zone". */
function stateInWords(term: string): string {
  const value = term.replace(/^[a-z]+:/, '')
  return /^(reason|warning):/.test(term) ? value.split(',').map(codeInWords).join(', ') : value
}

const FIELDS: readonly Suggestion[] = [
  { text: 'event:', hint: 'name of a track' },
  { text: 'user:', hint: 'userId' },
  { text: 'properties.', hint: 'any property: properties.total>100' },
  { text: 'traits.', hint: 'any trait' },
  { text: 'context.', hint: 'context.library.name' },
  { text: 'source:', hint: 'the app or site' },
  { text: 'type:', hint: 'track, page, identify…' },
  { text: 'name:', hint: 'name of any kind of event' },
  ...Object.entries(TEXT_FIELDS).flatMap(([field, search]) =>
    search === 'user' || search === 'name' ? [] : { text: `${search}:`, hint: field },
  ),
  { text: 'status:', hint: 'accepted, rejected or repeated' },
  { text: 'reason:', hint: 'why it was not accepted' },
  { text: 'warning:', hint: 'what is odd about it' },
  { text: 'delivery:', hint: 'failed, pending, delivered, skipped' },
  { text: 'destination:', hint: 'where it was sent on to' },
  { text: 'received>', hint: 'time of receipt: received>-15m' },
  { text: 'timestamp>', hint: 'time of the event' },
  { text: 'request:', hint: 'id of its request' },
]

function suggestionsOf(events: readonly EventSummary[]): Suggestion[] {
  const found = new Map<string, Suggestion>()
  const add = (text: string, hint: string) => {
    if (!found.has(text)) found.set(text, { text, hint })
  }
  for (const { type, name, userId, preview } of events.slice(0, 200)) {
    if (name !== null && type === 'track') add(`event:${quoted(name)}`, 'event')
    if (userId !== null) add(termFor('user', userId), 'user')
    for (const { path } of preview) {
      if (/^[\w.]+$/.test(path) && !/\.\d+(\.|$)/.test(path)) add(`${path}:`, 'property')
    }
  }
  for (const { term } of sourceFilter().options) add(term, 'source')
  for (const [name] of byCount(latest.peek()?.stats.byType)) add(`type:${name}`, 'kind')
  for (const code of reasonCodes.value) add(`reason:${code}`, helpFor(code)?.meaning ?? '')
  for (const code of warningCodes.value) add(`warning:${code}`, helpFor(code)?.meaning ?? '')
  for (const one of ['failed', 'pending', 'delivered', 'skipped']) add(`delivery:${one}`, '')
  add('status:accepted', '')
  add('status:rejected', '')
  add('status:repeated', 'duplicates')
  add('violation:*', 'breaks the tracking plan')
  return [...FIELDS, ...found.values()]
}
