import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt, Button, Pill, QueryState, Text } from '../components/basics.tsx'
import { byCount } from '../components/filter-menu.tsx'
import { Screen } from '../components/screen.tsx'
import { about } from '../lib/basics.ts'
import { duration, plural, share } from '../lib/format.ts'
import { sendJson } from '../lib/http.ts'
import { latest } from '../lib/live.ts'
import { href } from '../lib/router.ts'
import type { FaultRule, FaultState } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'

type Rule = Partial<Omit<FaultRule, 'id' | 'remaining'>>

const PRESETS: ReadonlyArray<{ title: string; meaning: string; rule: Rule }> = [
  {
    title: 'Outage',
    meaning: 'Every request gets 503, until you remove it.',
    rule: { status: 503, times: null },
  },
  {
    title: 'Server error',
    meaning: 'The next request gets 503 Service Unavailable.',
    rule: { status: 503 },
  },
  {
    title: 'Rate limit',
    meaning: 'The next 3 requests get 429 with Retry-After: 2.',
    rule: { status: 429, headers: { 'retry-after': '2' }, times: 3 },
  },
  { title: 'Slow', meaning: 'The next 10 requests wait for 5 seconds.', rule: { delay: 5000, times: 10 } },
  { title: 'No response', meaning: 'The next request gets no response at all.', rule: { hang: true } },
  {
    title: 'Lost connection',
    meaning: 'The connection of the next request is reset.',
    rule: { reset: true },
  },
  {
    title: 'Bad request',
    meaning: 'The next request is refused with 400 Bad Request.',
    rule: { status: 400 },
  },
  {
    title: 'Unauthorized',
    meaning: 'The next request is refused with 401 Unauthorized.',
    rule: { status: 401 },
  },
]

export function FaultsScreen() {
  const query = useQuery<FaultState>('api/faults')
  const source = useSignal('')
  const act = async (method: string, paths: readonly string[], body: unknown, done: string) => {
    await attempt(async () => {
      for (const path of paths) await sendJson(method, path, body)
      return done
    })
    query.reload()
  }
  const chosen = source.value === '' ? {} : { source: source.value }
  const add = (rule: Rule) => act('POST', ['api/faults'], { ...rule, ...chosen }, 'The fault is active')
  const { data } = query
  // A rule that was used up, or set by another page, changes the number in the stream.
  const active = latest.value?.faults
  useEffect(() => query.reload(), [active])
  const isCalm = data !== undefined && data.rules.length === 0 && data.failRate === 0
  return (
    <Screen
      title="Faults"
      actions={
        data !== undefined &&
        !isCalm && (
          <Button onClick={() => act('DELETE', ['api/faults'], undefined, 'All faults are removed')}>
            Remove all faults
          </Button>
        )
      }
    >
      <p class="note">
        The collector can fail like a real service, so that you see how your clients react. Faults affect only
        requests to the tracking API.
        {data !== undefined && data.injected > 0 && (
          <>
            {' '}
            <a href={href('requests', { q: 'fault:*' })}>{plural(data.injected, 'request')}</a> had a fault so
            far.
          </>
        )}
      </p>
      <QueryState query={query} />
      <section class="block">
        <div class="block-head">
          <h3>Active faults</h3>
        </div>
        <ul class="sheet fault-rows rules">
          {isCalm && <li class="soft">No faults: every request is handled as usual.</li>}
          {data !== undefined && data.failRate > 0 && (
            <li class="is-random">
              <Pill tone="warn">random</Pill>
              <span class="fault-meaning">{share(data.failRate, 1)} of all requests get 503.</span>
            </li>
          )}
          {grouped(data?.rules ?? []).map(({ words, isLasting, times, remaining, ids }) => (
            <li key={ids[0]} class="rule">
              <Pill tone="warn">{isLasting ? 'until removed' : `${remaining} of ${times} left`}</Pill>
              <span class="fault-meaning">
                <Text value={words} />
              </span>
              <Button
                class="quiet"
                onClick={() =>
                  act(
                    'DELETE',
                    ids.map((id) => `api/faults/${encodeURIComponent(id)}`),
                    undefined,
                    'The fault is removed',
                  )
                }
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      </section>
      <section class="block">
        <div class="block-head">
          <h3>Set a fault</h3>
          <SourceChoice source={source} />
        </div>
        <div class="sheet">
          <ul class="fault-rows presets">
            {PRESETS.map(({ title, meaning, rule }) => (
              <li key={title}>
                <span class="fault-title">{title}</span>
                <span class="fault-meaning">{meaning}</span>
                <Button aria-label={`Set ${title}`} onClick={() => add(rule)}>
                  Set
                </Button>
              </li>
            ))}
            <li>
              <span class="fault-title">At random</span>
              <FailRate
                now={data?.failRate ?? 0}
                onSet={(failRate) =>
                  act('POST', ['api/faults'], { failRate }, 'The share of failing requests is set')
                }
              />
            </li>
          </ul>
        </div>
      </section>
      <section class="block">
        <div class="block-head">
          <h3>Another fault</h3>
        </div>
        <div class="sheet">
          <OwnFault onAdd={add} />
        </div>
      </section>
    </Screen>
  )
}

function SourceChoice({ source }: { source: Signal<string> }) {
  return (
    <label>
      for{' '}
      <select
        aria-label="Source"
        value={source.value}
        onChange={(event) => (source.value = event.currentTarget.value)}
      >
        <option value="">all sources</option>
        {sourceNames().map((name) => (
          <option key={name} value={name}>
            {visibleText(name)}
          </option>
        ))}
      </select>
    </label>
  )
}

/** The configured sources; without configuration, those that have sent something. */
function sourceNames(): string[] {
  const seen = byCount(latest.value?.stats.bySource).map(([name]) => name)
  return [...new Set([...(about.value?.sources ?? []), ...seen])].slice(0, 100)
}

/** Equal faults are one row: what is left of them adds up, and they are removed together. */
function grouped(rules: readonly FaultRule[]) {
  const groups = new Map<
    string,
    { words: string; isLasting: boolean; times: number; remaining: number; ids: string[] }
  >()
  for (const rule of rules) {
    const isLasting = rule.times === null
    const words = ruleInWords(rule)
    const group = groups.get(`${isLasting} ${words}`) ?? { words, isLasting, times: 0, remaining: 0, ids: [] }
    group.times += rule.times ?? 0
    group.remaining += rule.remaining ?? 0
    group.ids.push(rule.id)
    groups.set(`${isLasting} ${words}`, group)
  }
  return [...groups.values()]
}

function ruleInWords({ status, headers, delay, hang, reset, path, source, chance }: FaultRule): string {
  const what = hang
    ? 'no response'
    : reset
      ? 'connection reset'
      : status === null
        ? 'handled as usual'
        : `status ${status}`
  const retryAfter = headers?.['retry-after'] === undefined ? '' : `, Retry-After: ${headers['retry-after']}`
  const late = delay > 0 ? `, after ${duration(delay)}` : ''
  const where = [path !== null && ` on ${path}`, source !== null && ` from ${source}`]
    .filter(Boolean)
    .join('')
  const often = chance < 1 ? `, ${share(chance, 1)} of the time` : ''
  return `${what}${retryAfter}${late}${where}${often}`
}

function FailRate({ now, onSet }: { now: number; onSet(failRate: number): void }) {
  return (
    <label class="fault-meaning">
      Share of requests, of all sources, that get 503:{' '}
      <select
        aria-label="Share of requests that fail at random"
        value={String(now)}
        onChange={(event) => onSet(Number(event.currentTarget.value))}
      >
        {[...new Set([0, 0.05, 0.1, 0.2, 0.5, 1, now])].map((failRate) => (
          <option key={failRate} value={String(failRate)}>
            {failRate === 0 ? 'none' : share(failRate, 1)}
          </option>
        ))}
      </select>
    </label>
  )
}

function OwnFault({ onAdd }: { onAdd(rule: Rule): void }) {
  const status = useSignal('500')
  const delay = useSignal('0')
  const times = useSignal('1')
  const path = useSignal('')
  const fields = [
    ['Status', status, { type: 'number', min: 200, max: 599, required: true }],
    ['Delay in ms', delay, { type: 'number', min: 0, max: 300_000, required: true }],
    ['Times', times, { type: 'number', min: 1, max: 1_000_000, placeholder: 'for ever' }],
    ['Path', path, { type: 'text', placeholder: 'any, or /v1/batch' }],
  ] as const
  return (
    <form
      class="fault-fields"
      onSubmit={(event) => {
        event.preventDefault()
        onAdd({
          status: Number(status.value),
          delay: Number(delay.value),
          times: times.value === '' ? null : Number(times.value),
          path: path.value.trim() === '' ? null : path.value.trim(),
        })
      }}
    >
      {fields.map(([label, value, attributes]) => (
        <label key={label}>
          {label}
          <input
            {...attributes}
            value={value.value}
            onInput={(event) => (value.value = event.currentTarget.value)}
          />
        </label>
      ))}
      <Button type="submit" class="primary">
        Set the fault
      </Button>
    </form>
  )
}
