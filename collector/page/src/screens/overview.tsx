import { Block, Figure, Nothing, Pill, QueryState, Text, TONE_OF_SEVERITY } from '../components/basics.tsx'
import { VolumeChart } from '../components/charts.tsx'
import { FirstSteps } from '../components/first-steps.tsx'
import { Screen } from '../components/screen.tsx'
import { chosenFrom, TimeRange } from '../components/time-range.tsx'
import { helpFor, skipInWords } from '../lib/basics.ts'
import { capitalised, count, plural, rate, share, shortCount } from '../lib/format.ts'
import { latest, totalOf } from '../lib/live.ts'
import { href } from '../lib/router.ts'
import type { EventPage, Loss, Overview, RequestPage, Step } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'

/** Refreshed rarely: after the first event, the oldest time changes only when old events are deleted. */
const BEGINNING_MS = 60_000
const HOUR_MS = 3_600_000
const SHORTEST_MS = 300_000

/** Returns the time of the oldest event or request. */
function useBeginning(): string | undefined {
  const events = useQuery<EventPage>('api/events?order=oldest&limit=1&view=summary', BEGINNING_MS)
  const requests = useQuery<RequestPage>('api/requests?order=oldest&limit=1', BEGINNING_MS)
  if (events.data === undefined || requests.data === undefined) {
    const hasFailed = events.error !== undefined || requests.error !== undefined
    return hasFailed ? '1970-01-01T00:00:00Z' : undefined
  }
  const times = [
    ...events.data.events.map((one) => one.receivedAt),
    ...requests.data.requests.map((one) => one.at),
  ]
  return times.sort()[0] ?? '1970-01-01T00:00:00Z'
}

export function OverviewScreen() {
  const beginning = useBeginning()
  const ageMs = Date.now() - Date.parse(beginning ?? '')
  // A chart of an hour would show the events of its last minute as one bar at the edge.
  const otherwise = ageMs < HOUR_MS ? 'all' : '-1h'
  const from = chosenFrom(otherwise)
  // A chart of all time begins with the data, not in 1970.
  const start = beginning && (from ?? (ageMs < SHORTEST_MS ? '-5m' : beginning))
  const query = useQuery<Overview>(
    start === undefined ? undefined : `api/overview?${new URLSearchParams({ from: start })}`,
  )
  const overview = query.data
  const stats = latest.value?.stats
  // While the store is unavailable, its counts are 0 too, although it may have events.
  const isEmpty = query.error === undefined && stats !== undefined && totalOf(stats) + stats.requests === 0
  return (
    <Screen title="Overview" actions={<TimeRange otherwise={otherwise} />}>
      <QueryState query={query} isEmpty={!isEmpty && overview === undefined} />
      {isEmpty ? (
        <FirstSteps />
      ) : (
        overview !== undefined && (
          <div class={query.isStale ? 'stale' : ''}>
            <Figures overview={overview} from={from} />
            <Volume overview={overview} />
            <Losses losses={overview.losses} from={from} />
          </div>
        )
      )}
    </Screen>
  )
}

function Figures({ overview, from }: { overview: Overview; from: string | undefined }) {
  const { requests } = overview
  const [received, accepted, wanted, delivered] = overview.steps as [Step, Step, Step, Step]
  const { repeated = 0 } = accepted
  const { pending = 0 } = delivered
  return (
    <dl class="figures sheet">
      <Figure
        title="Received"
        value={shortCount(received.count)}
        link={href('events', { from })}
        note={`${rate(received.perSecond)}/s, in ${plural(requests.total, 'request')}`}
      />
      <Figure
        title="Accepted"
        value={shortCount(accepted.count)}
        link={href('events', { q: 'status:accepted', from })}
        note={share(accepted.count, received.count)}
      />
      <Figure
        title="Not accepted"
        value={shortCount(accepted.lost)}
        link={href('events', { q: 'status:rejected', from })}
        isBad={accepted.lost > 0}
        note={
          repeated > 0
            ? `and ${plural(repeated, 'repeat')}, which is harmless`
            : share(accepted.lost, received.count)
        }
      />
      {wanted.count + wanted.lost > 0 && (
        <>
          <Figure
            title="Delivered"
            value={shortCount(delivered.count)}
            link={href('events', { q: 'delivery:delivered', from })}
            note={`of ${plural(wanted.count, 'delivery', 'deliveries')}${
              pending > 0 ? `, ${count(pending)} waiting` : ''
            }`}
          />
          <Figure
            title="Given up"
            value={shortCount(delivered.lost)}
            link={href('events', { q: 'delivery:failed', from })}
            isBad={delivered.lost > 0}
            note={share(delivered.lost, wanted.count)}
          />
        </>
      )}
      {requests.refused > 0 && (
        <Figure
          title="Refused requests"
          value={shortCount(requests.refused)}
          link={href('requests', { q: 'status>=400', from })}
          isBad
          note={share(requests.refused, requests.total)}
        />
      )}
    </dl>
  )
}

/** Reasons in the order of their harm. */
const ORDER = ['error', 'warning', 'info']

function Losses({ losses, from }: { losses: readonly Loss[]; from: string | undefined }) {
  if (losses.length === 0) return null
  const sorted = losses.toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
  return (
    <Block title="What did not arrive, and why" beside={<a href={href('problems')}>All problems</a>}>
      <ul class="losses sheet">
        {sorted.map((loss) => (
          <li key={`${loss.step} ${loss.destination ?? ''} ${loss.reason}`}>
            <a href={href('events', { q: loss.q, from })}>
              <Pill tone={TONE_OF_SEVERITY[loss.severity]}>{shortCount(loss.count)}</Pill>
              <span class="loss-reason">
                <Text value={lossInWords(loss)} />
              </span>
              {loss.step === 'accepted' && <code class="soft">{loss.reason}</code>}
            </a>
          </li>
        ))}
      </ul>
    </Block>
  )
}

function lossInWords({ step, destination = '', reason }: Loss): string {
  if (step === 'accepted') return capitalised(helpFor(reason)?.meaning ?? reason)
  return step === 'filtered'
    ? `Not sent to ${destination}: ${skipInWords(reason)}`
    : `${destination} did not take them: ${reason}`
}

function Volume({ overview }: { overview: Overview }) {
  const { series, bucketMs } = overview
  if (series.length === 0) return <Nothing title="No events in this time" />
  const seconds = bucketMs / 1000
  const unit =
    seconds >= 86_400
      ? plural(seconds / 86_400, 'day')
      : seconds >= 3600
        ? plural(seconds / 3600, 'hour')
        : seconds >= 60
          ? plural(seconds / 60, 'minute')
          : plural(seconds, 'second')
  const has = (pick: (bucket: Overview['series'][number]) => number) =>
    series.some((bucket) => pick(bucket) > 0)
  return (
    <Block
      title="Volume"
      beside={
        <p class="soft">
          events in each {unit.replace(/^1 /, '')}: <span class="legend accepted">accepted</span>
          {has(({ rejected }) => rejected) && <span class="legend rejected">not accepted</span>}
          {has(({ repeated }) => repeated) && <span class="legend repeat">repeated</span>}
        </p>
      }
    >
      <div class="sheet">
        <VolumeChart
          buckets={series}
          bucketMs={bucketMs}
          hrefOf={(from, to) => href('events', { from, to })}
        />
      </div>
    </Block>
  )
}
