import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt, Block, Button, Pill, QueryState, Text } from '../components/basics.tsx'
import { byCount } from '../components/filter-menu.tsx'
import { Screen } from '../components/screen.tsx'
import { about } from '../lib/basics.ts'
import { count, duration, plural, share } from '../lib/format.ts'
import { sendJson } from '../lib/http.ts'
import { clockMs, latest } from '../lib/live.ts'
import { href } from '../lib/router.ts'
import type { FaultRule, FaultState } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'
import { visibleText } from '../lib/visible-text.ts'

type Rule = Partial<Omit<FaultRule, 'id' | 'remaining' | 'until'>> & { forMs?: number }

const PRESETS: ReadonlyArray<{ title: string; meaning: string; rule: Rule }> = [
  {
    title: 'Outage for 30 s',
    meaning: 'Every request gets 503, and after 30 seconds all is well again.',
    rule: { status: 503, times: null, forMs: 30_000 },
  },
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
  {
    title: 'At random',
    meaning: 'One in ten requests gets 503, until you remove it.',
    rule: { status: 503, chance: 0.1, times: null },
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
  const isCalm = data !== undefined && data.rules.length === 0
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
      <Block title="Active faults">
        <ul class="sheet fault-rows rules">
          {isCalm && <li class="soft">No faults: every request is handled as usual.</li>}
          {grouped(data?.rules ?? []).map(({ words, left, ids }) => (
            <li key={ids[0]} class="rule">
              <Pill tone="warn">{left}</Pill>
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
      </Block>
      <Block title="Set a fault" beside={<SourceChoice source={source} />}>
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
          </ul>
        </div>
      </Block>
      <Block title="Another fault">
        <div class="sheet">
          <OwnFault onAdd={add} />
        </div>
      </Block>
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
  const groups = new Map<string, FaultRule[]>()
  for (const rule of rules) {
    const key = `${rule.times === null} ${rule.until} ${ruleInWords(rule)}`
    groups.set(key, [...(groups.get(key) ?? []), rule])
  }
  return [...groups.values()].map((same) => ({
    words: ruleInWords(same[0] as FaultRule),
    left: leftOf(same),
    ids: same.map(({ id }) => id),
  }))
}

/** For how long, or how often, equal faults go on. */
function leftOf(same: readonly FaultRule[]): string {
  const sum = (pick: (rule: FaultRule) => number | null) =>
    same.reduce((total, one) => total + (pick(one) ?? 0), 0)
  const [first] = same
  const seconds = first?.until == null ? 0 : Math.ceil((Date.parse(first.until) - clockMs.value) / 1000)
  const parts = [
    ...(first?.times === null
      ? []
      : [`${sum(({ remaining }) => remaining)} of ${sum(({ times }) => times)} left`]),
    ...(seconds > 0 ? [`for ${count(seconds)} s`] : []),
  ]
  return parts.join(', ') || 'until removed'
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

const FIELDS = [
  ['Status', 'status', { type: 'number', min: 200, max: 599, required: true, defaultValue: '500' }],
  ['Delay in ms', 'delay', { type: 'number', min: 0, max: 300_000, required: true, defaultValue: '0' }],
  ['Times', 'times', { type: 'number', min: 1, max: 1_000_000, placeholder: 'for ever', defaultValue: '1' }],
  ['For seconds', 'seconds', { type: 'number', min: 1, max: 86_400, placeholder: 'no limit' }],
  ['Share in %', 'percent', { type: 'number', min: 1, max: 100, required: true, defaultValue: '100' }],
  ['Path', 'path', { type: 'text', placeholder: 'any, or /v1/batch' }],
] as const

function OwnFault({ onAdd }: { onAdd(rule: Rule): void }) {
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    /** Null if the field is empty. */
    const text = (name: string) => String(fields.get(name)).trim() || null
    const seconds = text('seconds')
    onAdd({
      status: Number(text('status')),
      delay: Number(text('delay')),
      times: text('times') === null ? null : Number(text('times')),
      chance: Number(text('percent')) / 100,
      ...(seconds === null ? {} : { forMs: 1000 * Number(seconds) }),
      path: text('path'),
    })
  }
  return (
    <form class="fault-fields" onSubmit={add}>
      {FIELDS.map(([label, name, attributes]) => (
        <label key={name}>
          {label}
          <input name={name} {...attributes} />
        </label>
      ))}
      <Button type="submit" class="primary">
        Set the fault
      </Button>
    </form>
  )
}
