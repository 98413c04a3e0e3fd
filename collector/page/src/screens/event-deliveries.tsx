import { Ago, Block, Pill, Text } from '../components/basics.tsx'
import { TONE_OF_STATE } from '../components/event-cells.tsx'
import { skipInWords } from '../lib/basics.ts'
import { clock, duration, plural } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { Attempt, DeliveryState, OutcomeDetails } from '../lib/types.ts'

export function EventDeliveries({ outcomes }: { outcomes: readonly OutcomeDetails[] }) {
  if (outcomes.length === 0) return null
  return (
    <Block title="Destinations">
      <ul class="plain-list deliveries-list">
        {outcomes.map((outcome) => (
          <li key={outcome.name}>
            <Pill tone={TONE_OF_STATE[outcome.state as DeliveryState]}>{outcome.state}</Pill>{' '}
            <a href={href('destinations')}>
              <Text value={outcome.name} />
            </a>
            {outcome.reason && (
              <span>
                : <Text value={skipInWords(outcome.reason)} />
              </span>
            )}
            {outcome.dueAt !== null && outcome.state === 'pending' && (
              <span class="soft"> (next attempt at {clock(outcome.dueAt).slice(0, 8)})</span>
            )}
            {outcome.history.length > 0 && <History attempts={outcome.history} total={outcome.attempts} />}
          </li>
        ))}
      </ul>
    </Block>
  )
}

const RESULTS: Readonly<Record<Attempt['result'], string>> = {
  delivered: 'delivered',
  retry: 'to be tried again',
  failed: 'given up',
}

function History({ attempts, total }: { attempts: readonly Attempt[]; total: number }) {
  return (
    <details>
      <summary>{plural(Math.max(total, attempts.length), 'attempt')}</summary>
      <ol class="attempts">
        {attempts.map(({ at, attempt, durationMs, result, reason }) => (
          <li key={`${attempt} ${at}`}>
            <span class="soft">
              {clock(at)} <span class="sr-only">attempt {attempt}</span>
            </span>{' '}
            {RESULTS[result]}
            {reason && (
              <>
                : <Text value={reason} />
              </>
            )}{' '}
            <span class="soft">
              in {duration(durationMs)}, <Ago at={at} />
            </span>
          </li>
        ))}
      </ol>
    </details>
  )
}
