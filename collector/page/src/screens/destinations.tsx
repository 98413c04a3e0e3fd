import { useSignal } from '@preact/signals'
import {
  Ago,
  attempt,
  Button,
  Figure,
  Nothing,
  Pill,
  QueryState,
  Text,
  type Tone,
} from '../components/basics.tsx'
import { Screen } from '../components/screen.tsx'
import { count, plural, rate, share } from '../lib/format.ts'
import { sendJson } from '../lib/http.ts'
import { clockMs } from '../lib/live.ts'
import { href } from '../lib/router.ts'
import { termFor } from '../lib/search-line.ts'
import type { Destination } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'

export function DestinationsScreen() {
  const query = useQuery<{ destinations: Destination[] }>('api/destinations')
  const destinations = query.data?.destinations
  return (
    <Screen title="Destinations">
      <QueryState query={query} />
      {destinations?.length === 0 && (
        <Nothing title="No destinations are configured">
          <p>
            Events are stored here and sent nowhere else. A destination in the config file sends them on, to a
            file or a webhook:
          </p>
          <pre class="code">
            {
              '{\n  "destinations": [\n    { "name": "Warehouse", "type": "file", "path": "events.ndjson" },\n    { "name": "CRM", "type": "webhook", "url": "http://127.0.0.1:9000/hook" }\n  ]\n}'
            }
          </pre>
        </Nothing>
      )}
      <div class={query.isStale ? 'stale' : ''}>
        {destinations?.map((destination) => (
          <DestinationCard key={destination.name} destination={destination} onDone={query.reload} />
        ))}
      </div>
    </Screen>
  )
}

function stateOf({ isEnabled, pending, lastError, failed, delivered }: Destination): [Tone, string] {
  if (!isEnabled) return ['info', 'turned off']
  if (pending > 0 && lastError !== null) return ['warn', 'trying again']
  if (pending > 0) return ['info', 'delivering']
  if (failed > 0)
    return ['bad', delivered === 0 ? 'everything given up' : `${share(failed, failed + delivered)} given up`]
  return ['good', 'up to date']
}

function DestinationCard({ destination, onDone }: { destination: Destination; onDone(): void }) {
  const isBusy = useSignal(false)
  const { name, type, target, pending, delivered, failed, skipped, lastError, failures } = destination
  const hasWork = pending + failed > 0
  const [tone, state] = stateOf(destination)
  const term = termFor('destination', name)
  const retry = async (ids?: string[]) => {
    if (isBusy.value) return
    isBusy.value = true
    await attempt(async () => {
      const path = `api/destinations/${encodeURIComponent(name)}/retry`
      const { retried } = await sendJson<{ retried: number }>('POST', path, ids === undefined ? {} : { ids })
      return retried === 0
        ? 'There was nothing to try again'
        : `${plural(retried, 'delivery', 'deliveries')} tried again`
    })
    isBusy.value = false
    onDone()
  }
  const numbers: Array<[string, number, string]> = [
    ['Waiting', pending, 'pending'],
    ['Delivered', delivered, 'delivered'],
    ['Given up', failed, 'failed'],
    ['Filtered out', skipped, 'skipped'],
  ]
  return (
    <section class="block destination" aria-label={name}>
      <div class="block-head">
        <h3>
          <Text value={name} /> <Pill tone={tone}>{state}</Pill>
        </h3>
        <p class="soft">
          {type} to <Text value={target} />
        </p>
        {/* `aria-disabled` instead of `disabled`: a disabled button loses the focus to the top of the page. */}
        <Button aria-disabled={isBusy.value || !hasWork} onClick={() => hasWork && retry()}>
          Try everything again
        </Button>
      </div>
      <div class="sheet">
        <dl class="figures">
          {numbers.map(([title, number, delivery]) => (
            <Figure
              key={title}
              title={title}
              value={count(number)}
              link={href('events', { q: `${term} delivery:${delivery}` })}
              isBad={delivery === 'failed' && number > 0}
            />
          ))}
          <Figure title="Rate" value={`${rate(destination.perSecond)}/s`} />
        </dl>
        {(pending > 0 || lastError !== null || failures.length > 0) && (
          <div class="notes">
            <Waiting destination={destination} />
            {lastError !== null && (
              <p>
                Last error:{' '}
                <strong>
                  <Text value={lastError.reason} />
                </strong>
                , <Ago at={lastError.at} /> with{' '}
                <a href={href('events', { open: lastError.eventId })}>this event</a>
              </p>
            )}
            {failures.length > 0 && (
              <details open={failures.length <= 5}>
                <summary>
                  {failures.length < failed
                    ? `The newest ${failures.length} of ${count(failed)}`
                    : plural(failed, 'event')}{' '}
                  given up
                </summary>
                <ul class="failures">
                  {failures.map((failure) => (
                    <li key={failure.id}>
                      <a href={href('events', { q: `${term} delivery:failed`, open: failure.id })}>
                        <span class="soft">{failure.type}</span>{' '}
                        <Text value={failure.name ?? 'without a name'} />
                      </a>
                      <span class="bad-text">
                        <Text value={failure.reason} />
                      </span>
                      <span class="soft">
                        {plural(failure.attempts, 'attempt')}
                        {failure.at !== null && (
                          <>
                            , <Ago at={failure.at} />
                          </>
                        )}
                      </span>
                      <Button class="quiet" aria-disabled={isBusy.value} onClick={() => retry([failure.id])}>
                        Try again
                      </Button>
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </div>
        )}
      </div>
    </section>
  )
}

function Waiting({ destination }: { destination: Destination }) {
  const { isEnabled, pending, oldestPendingAt, nextAttemptAt } = destination
  if (pending === 0 || oldestPendingAt === null) return null
  // Of one that is turned off, the store has a time for the next attempt too, which nobody will make.
  const seconds =
    nextAttemptAt === null || !isEnabled ? 0 : Math.ceil((Date.parse(nextAttemptAt) - clockMs.value) / 1000)
  return (
    <p>
      The oldest pending delivery came <Ago at={oldestPendingAt} />
      {seconds > 0 ? `; the next attempt is in ${seconds} s.` : '.'}
    </p>
  )
}
