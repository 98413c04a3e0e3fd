import { HTTPStatus, Pill, Text } from '../components/basics.tsx'
import { Cell } from '../components/event-cells.tsx'
import { type Column, FeedList } from '../components/feed-list.tsx'
import { sourceFilter } from '../components/filter-menu.tsx'
import { exportAddress } from '../components/list-tools.tsx'
import { codeInWords, helpFor } from '../lib/basics.ts'
import type { Filter } from '../lib/filters.ts'
import { bytes, clock, count, dateAndTime, duration, plural } from '../lib/format.ts'
import { termFor } from '../lib/search-line.ts'
import type { Suggestion } from '../lib/suggest.ts'
import type { RequestSummary } from '../lib/types.ts'
import { useFeed } from '../lib/use-feed.ts'
import { useListAddress } from '../lib/use-list-address.ts'
import { RequestPanel } from './request-panel.tsx'

const SUGGESTIONS: readonly Suggestion[] = [
  { text: 'status:', hint: 'status of the response' },
  { text: 'path:', hint: '/v1/batch' },
  { text: 'source:', hint: 'the app or site' },
  { text: 'address:', hint: 'IP address' },
  { text: 'library:', hint: 'name and version' },
  { text: 'agent:', hint: 'User-Agent' },
  { text: 'status>=400', hint: 'refused' },
  { text: 'status:200', hint: 'answered' },
  { text: 'path:/v1/batch', hint: 'batches' },
  { text: 'method:POST', hint: '' },
  { text: 'retries>0', hint: 'sent again by the client' },
  { text: 'events>1', hint: 'more than one event' },
  { text: 'duration>100', hint: 'milliseconds' },
  { text: 'fault:*', hint: 'answered with a fault on demand' },
]
const STATUS: Filter = {
  title: 'Status',
  fields: ['status'],
  options: [200, 400, 401, 404, 413, 429, 503].map((status) => ({
    text: String(status),
    term: `status:${status}`,
  })),
}
const COLUMNS: readonly Column[] = [
  ['Answered', 'time'],
  ['Status', 'http'],
  ['Request', 'path'],
  ['Result', 'count'],
  ['Source', 'source'],
  ['Client', 'client'],
  ['Size', 'size'],
  ['Took', 'took'],
]

export function RequestsScreen() {
  const address = useListAddress()
  const { openId, question, addTerm } = address
  const list = useFeed<RequestSummary>('requests', question, () => false)
  return (
    <FeedList<RequestSummary>
      noun="request"
      example="status>=400 path:/v1/batch"
      list={list}
      address={address}
      timeOf={answeredAt}
      columns={COLUMNS}
      filters={[STATUS, sourceFilter()]}
      suggestions={SUGGESTIONS}
      actions={
        <a class="button" href={exportAddress('api/export/requests', question)} download="requests.csv">
          Export
        </a>
      }
      panel={openId !== undefined && <RequestPanel id={openId} />}
      cells={(request) => <RequestCells request={request} addTerm={addTerm} />}
    />
  )
}

/** What became of a request, in words: why it was refused, or how many of its events were accepted. */
function Result({ request: { code, problem, events } }: { request: RequestSummary }) {
  if (code !== null) {
    return (
      <span class="bad-text" title={`${code}: ${problem?.message ?? helpFor(code)?.meaning ?? ''}`}>
        {codeInWords(code)}
      </span>
    )
  }
  const { total, rejected, repeated } = events
  if (total === 0) return <span class="soft">–</span>
  return (
    <>
      {plural(total, 'event')}
      {rejected > 0 && (
        <>
          , <span class="bad-text">{count(rejected)} not accepted</span>
        </>
      )}
      {repeated > 0 && <span class="soft">, {plural(repeated, 'duplicate')}</span>}
    </>
  )
}

/** The list is in the order of the answers, so it shows their time. */
function answeredAt({ at, durationMs }: RequestSummary): string {
  return new Date(Date.parse(at) + Math.round(durationMs ?? 0)).toISOString()
}

interface CellsProps {
  request: RequestSummary
  addTerm(term: string): void
}

function RequestCells({ request, addTerm }: CellsProps) {
  const { at, status, method, path, source, library, userAgent } = request
  const client = library ?? userAgent
  return (
    <>
      <Cell class="time" title={`received ${dateAndTime(at)}`}>
        {clock(answeredAt(request))}
      </Cell>
      <Cell class="http" term={`status:${status}`} addTerm={addTerm}>
        <HTTPStatus status={status} />
      </Cell>
      <Cell class="path" term={termFor('path', path)} addTerm={addTerm}>
        <span class="soft">{method}</span>{' '}
        <span class="title">
          <Text value={path} />
        </span>{' '}
        {request.fault !== null && <Pill tone="info">fault</Pill>}{' '}
        {request.retryCount !== null && request.retryCount > 0 && (
          <Pill tone="warn">retry {request.retryCount}</Pill>
        )}
      </Cell>
      <Cell class="count">
        <Result request={request} />
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
