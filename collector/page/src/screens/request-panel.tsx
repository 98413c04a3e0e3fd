import { Ago, attempt, Block, Button, Explanation, Fact, HTTPStatus, Text } from '../components/basics.tsx'
import { CopyButton, copy } from '../components/copy.tsx'
import { Panel } from '../components/side-panel.tsx'
import { asCurl, collectorBase } from '../lib/as-code.ts'
import { codeInWords, helpFor, severityOf } from '../lib/basics.ts'
import { bytes, capitalised, dateAndTime, duration, plural } from '../lib/format.ts'
import { sendJson } from '../lib/http.ts'
import { go, href, hrefWith } from '../lib/router.ts'
import type { RequestDetails } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { EventRows } from './latest-events.tsx'

/** Below them is what the request itself says. The list of events shows them all. */
const FIRST_EVENTS = 20

export function RequestPanel({ id }: { id: string }) {
  const query = useQuery<RequestDetails>(`api/requests/${encodeURIComponent(id)}`)
  // The request before stays until there is another, so that the focus stays on its button.
  const isShown = query.data?.id === id || (query.isStale && query.error === undefined)
  return (
    <Panel
      label="Request"
      query={query}
      item={isShown ? query.data : undefined}
      title={({ method, path }) => (
        <>
          <span class="soft">{method}</span> <Text value={path} />
        </>
      )}
    >
      {(request) => (
        <>
          <Actions request={request} />
          <Refusal request={request} />
          <Facts request={request} />
          {request.events.total > 0 && (
            <Block
              title={
                <>
                  {plural(request.events.total, 'event')}
                  {request.events.total > FIRST_EVENTS && <span class="soft"> the first {FIRST_EVENTS}</span>}
                </>
              }
              beside={<a href={href('events', { q: `request:${request.id}` })}>Show in the list</a>}
            >
              <EventRows
                events={request.eventList.slice(0, FIRST_EVENTS)}
                label="Events of this request"
                q={`request:${request.id}`}
              />
            </Block>
          )}
          <Body request={request} />
          <Answer request={request} />
          <Block title="Headers">
            <dl class="facts mono">
              {Object.entries(request.headers).map(([name, value]) => (
                <Fact key={name} name={<Text value={name} />}>
                  <Text value={String(value)} />
                </Fact>
              ))}
            </dl>
          </Block>
        </>
      )}
    </Panel>
  )
}

function Actions({ request }: { request: RequestDetails }) {
  const send = () =>
    attempt(async () => {
      const path = `api/requests/${encodeURIComponent(request.id)}/send`
      const answer = await sendJson<{ status: number; request: string | null }>('POST', path)
      if (answer.request !== null) go(hrefWith({ open: answer.request }))
      return `Sent again: the answer is ${answer.status}`
    })
  if (request.bodyIsCut) return <p class="soft">Only the beginning of the body was kept.</p>
  return (
    <p class="actions">
      <Button onClick={() => copy(asCurl(request, collectorBase()), 'curl command')}>Copy as curl</Button>
      <Button onClick={send}>Send again</Button>
    </p>
  )
}

function Refusal({ request: { problem, fault } }: { request: RequestDetails }) {
  return (
    <>
      {fault !== null && (
        <Explanation severity="info" word="fault" meaning={`This response was a fault on demand: ${fault}`} />
      )}
      {problem !== null && (
        <Explanation
          severity={severityOf(problem.code)}
          word={codeInWords(problem.code)}
          meaning={capitalised(problem.message)}
        >
          <p>
            {/* The place of the mistake is marked in the body below, and says more than a remedy. */}
            {problem.offset === null && helpFor(problem.code)?.remedy}
            {problem.line !== null && `Line ${problem.line}, column ${problem.column}.`}{' '}
            <code class="soft">{problem.code}</code>
          </p>
        </Explanation>
      )}
    </>
  )
}

function Facts({ request }: { request: RequestDetails }) {
  const { bodyBytes, inflatedBytes, contentEncoding } = request
  const rows: Array<[string, string | null | undefined]> = [
    ['Content type', request.contentType],
    ['Source', request.source || 'unknown'],
    ['Address', request.address],
    ['Library', request.library],
    ['User agent', request.userAgent],
    [
      'Size',
      bodyBytes === null
        ? null
        : contentEncoding === null || inflatedBytes === null
          ? bytes(bodyBytes)
          : `${bytes(bodyBytes)} ${contentEncoding}, ${bytes(inflatedBytes)} inflated`,
    ],
    ['Took', request.durationMs === null ? null : duration(request.durationMs)],
    ['Retry', request.retryCount === null ? null : `attempt ${request.retryCount + 1} of the client`],
  ]
  return (
    <dl class="facts">
      <Fact name="Status">
        <HTTPStatus status={request.status} />
        {request.status === 0 && ' The connection ended before the response.'}
      </Fact>
      <Fact name="Received">
        {dateAndTime(request.at)}, <Ago at={request.at} />
      </Fact>
      {rows.map(([name, value]) =>
        value === null || value === undefined ? null : (
          <Fact key={name} name={name}>
            <Text value={value} />
          </Fact>
        ),
      )}
    </dl>
  )
}

function Answer({ request }: { request: RequestDetails }) {
  const { answer, status } = request
  if (status === 0) return null
  return (
    <Block
      title={
        <>
          Answer <span class="soft">{status}</span>
        </>
      }
      beside={answer !== null && <CopyButton text={answer} what="Answer" />}
    >
      {answer === null ? (
        <p class="soft">No body, or a long one, which is not kept.</p>
      ) : (
        <pre class="code answer">
          <Text value={answer} />
        </pre>
      )}
    </Block>
  )
}

/** If the mistake is further down than this, the text around the mistake is also shown above the body. */
const IN_SIGHT = 400
const AROUND = 60

function Body({ request }: { request: RequestDetails }) {
  const { body, bodyIsCut, problem } = request
  if (body === null || body === '') return null
  const place = placeOf(body, problem)
  return (
    <Block
      title={<>Body{bodyIsCut && <span class="soft"> (the first {bytes(body.length)})</span>}</>}
      beside={<CopyButton text={body} what="Body" />}
    >
      {place !== undefined && place > IN_SIGHT && (
        <pre class="code">
          …<Marked text={body.slice(place - AROUND, place + AROUND)} place={AROUND} />…
        </pre>
      )}
      <pre class="code">
        {place === undefined ? <Text value={body} /> : <Marked text={body} place={place} />}
        {bodyIsCut && '…'}
      </pre>
    </Block>
  )
}

/** `column` counts UTF-16 code units, like the indexes of a string. `offset` counts bytes, so it is not used. */
function placeOf(body: string, problem: RequestDetails['problem']): number | undefined {
  if (problem === null || problem.line === null) return undefined
  const before = body
    .split('\n')
    .slice(0, problem.line - 1)
    .map((line) => `${line}\n`)
    .join('')
  const mark = body.startsWith('\ufeff') && before === '' ? 1 : 0
  const place = before.length + mark + (problem.column ?? 1) - 1
  return place <= body.length ? place : undefined
}

function Marked({ text, place }: { text: string; place: number }) {
  return (
    <>
      <Text value={text.slice(0, place)} />
      <mark>
        <Text value={text.slice(place, place + 1) || 'end'} />
      </mark>
      <Text value={text.slice(place + 1)} />
    </>
  )
}
