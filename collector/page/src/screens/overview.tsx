import { Nothing, Pill, QueryState, Text, TONE_OF_SEVERITY } from '../components/basics.tsx'
import { VolumeChart } from '../components/charts.tsx'
import { chosenFrom, TimeRange } from '../components/time-range.tsx'
import { helpFor, skipInWords } from '../lib/basics.ts'
import { count, plural, rate, share, shortCount } from '../lib/format.ts'
import { latest } from '../lib/live.ts'
import { href } from '../lib/router.ts'
import type { EventPage, Loss, Overview, RequestPage, Step } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { FirstSteps } from './first-steps.tsx'
import { LatestEvents } from './latest-events.tsx'
import { LogBlock } from './log-state.tsx'

/** `lost` describes the events that do not reach the step. */
const STEPS: Readonly<Record<Step['name'], { title: string; meaning: string; lost: string }>> = {
  received: { title: 'Received', meaning: 'events that clients sent', lost: '' },
  accepted: { title: 'Accepted', meaning: 'valid events that were not duplicates', lost: 'not accepted' },
  filtered: {
    title: 'Filtered',
    meaning: 'deliveries to destinations that are turned on for the event',
    lost: 'filtered out',
  },
  delivered: { title: 'Delivered', meaning: 'deliveries that arrived', lost: 'given up' },
}

/** Refreshed rarely: after the first event, the oldest time changes only when old events are deleted. */
const BEGINNING_MS = 60_000

/** Returns the time of the oldest event or request, so that a chart of all time does not begin in 1970. */
function useBeginning(isWanted: boolean): string | undefined {
  const events = useQuery<EventPage>(
    isWanted ? 'api/events?order=oldest&limit=1&view=summary' : undefined,
    BEGINNING_MS,
  )
  const requests = useQuery<RequestPage>(
    isWanted ? 'api/requests?order=oldest&limit=1' : undefined,
    BEGINNING_MS,
  )
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
  const from = chosenFrom()
  const beginning = useBeginning(from === undefined)
  const start = from ?? beginning
  const query = useQuery<Overview>(
    start === undefined ? undefined : `api/overview?${new URLSearchParams({ from: start })}`,
  )
  const overview = query.data
  const stats = latest.value?.stats
  // While the store is unavailable, its counts are 0 too, although it may have events.
  const isEmpty =
    query.error === undefined && stats !== undefined && stats.accepted + stats.rejected + stats.requests === 0
  return (
    <div class="scroll">
      <div class="screen-head">
        <h2>Overview</h2>
        <TimeRange />
      </div>
      <QueryState query={query} isEmpty={!isEmpty && overview === undefined} />
      {!isEmpty && overview !== undefined && (
        <div class={query.isStale ? 'stale' : ''}>
          {!overview.isComplete && (
            <p class="note">There are too many events to count in time: the numbers are lower bounds.</p>
          )}
          <Steps overview={overview} from={from} />
        </div>
      )}
      {/* Loads its own data, so it is up to date even while the store is unavailable and the rest is outdated. */}
      <LogBlock />
      {isEmpty ? (
        <FirstSteps />
      ) : (
        overview !== undefined && (
          <div class={query.isStale ? 'stale' : ''}>
            <Volume overview={overview} />
            <LatestEvents />
          </div>
        )
      )}
    </div>
  )
}

function Steps({ overview, from }: { overview: Overview; from: string | undefined }) {
  const { steps, losses, requests } = overview
  const [received] = steps
  const hasDestinations = steps.some(({ name, count: n, lost }) => name === 'filtered' && n + lost > 0)
  return (
    <ol class="steps">
      {steps.map((step, index) => (
        <li key={step.name} class={`step step-${step.name}`}>
          <StepCard
            step={step}
            before={steps[index - 1]}
            most={received?.count ?? 0}
            from={from}
            isUsed={hasDestinations || index < 2}
          />
          {step.name === 'received' ? (
            <p class="step-note">
              in <a href={href('requests')}>{plural(requests.total, 'request')}</a>
              {requests.refused > 0 && (
                <>
                  ,{' '}
                  <a class="bad-text" href={href('requests', { q: 'status>=400', from })}>
                    {count(requests.refused)} refused
                  </a>
                </>
              )}
            </p>
          ) : (
            <Losses step={step} losses={losses.filter((loss) => loss.step === step.name)} from={from} />
          )}
        </li>
      ))}
    </ol>
  )
}

const LINES: Readonly<Record<Step['name'], string>> = {
  received: '',
  accepted: 'status:accepted',
  filtered: 'delivery:pending,delivered,failed',
  delivered: 'delivery:delivered',
}

interface CardProps {
  step: Step
  before: Step | undefined
  most: number
  from: string | undefined
  isUsed: boolean
}

function StepCard({ step, before, most, from, isUsed }: CardProps) {
  const { title, meaning } = STEPS[step.name]
  if (!isUsed) {
    return (
      <div class="step-card unused">
        <h3>{title}</h3>
        <p class="step-count">–</p>
        <p class="soft">no destination is configured</p>
      </div>
    )
  }
  // The count is shown as a share of the previous step. `filtered` counts deliveries instead of events, so there the total is
  // the sum of its own count and losses.
  const whole = before === undefined ? 0 : step.name === 'filtered' ? step.count + step.lost : before.count
  return (
    <a class="step-card" href={href('events', { q: LINES[step.name], from })} title={`${title}: ${meaning}`}>
      <h3>{title}</h3>
      <p class="step-count">
        {shortCount(step.count)}
        <span class="step-unit">{step.unit}</span>
      </p>
      <p class="soft">
        {rate(step.perSecond)}/s
        {before !== undefined && whole > 0 && `, ${share(step.count, whole)}`}
        {step.pending !== undefined && step.pending > 0 && `, ${count(step.pending)} waiting`}
      </p>
      <progress
        aria-label={`${title}, as a share of the step before`}
        max={before === undefined ? Math.max(1, most) : Math.max(1, whole)}
        value={step.count}
      />
    </a>
  )
}

function Losses({ step, losses, from }: { step: Step; losses: readonly Loss[]; from: string | undefined }) {
  if (losses.length === 0) {
    return <p class="step-note soft">{step.count > 0 ? 'nothing lost' : ''}</p>
  }
  const { lost } = STEPS[step.name]
  return (
    <div class="losses">
      <p class="step-note">
        {count(step.lost)} {lost}
      </p>
      <ul>
        {losses.map((loss) => (
          <li key={`${loss.destination ?? ''} ${loss.reason}`}>
            <a href={href('events', { q: loss.q, from })} title={meaningOf(loss)}>
              <Pill tone={TONE_OF_SEVERITY[loss.severity]}>{shortCount(loss.count)}</Pill>
              <span class="loss-reason">
                {loss.destination !== undefined && (
                  <>
                    <Text value={loss.destination} />:{' '}
                  </>
                )}
                <Text value={loss.step === 'filtered' ? skipInWords(loss.reason) : loss.reason} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

function meaningOf(loss: Loss): string {
  return helpFor(loss.reason)?.meaning ?? skipInWords(loss.reason)
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
  return (
    <section class="block">
      <div class="block-head">
        <h3>Volume</h3>
        <p class="soft">
          events in each {unit.replace(/^1 /, '')}; <span class="key-accepted">accepted</span>{' '}
          <span class="key-rejected">not accepted</span>
        </p>
      </div>
      <VolumeChart buckets={series} bucketMs={bucketMs} hrefOf={(from, to) => href('events', { from, to })} />
    </section>
  )
}
