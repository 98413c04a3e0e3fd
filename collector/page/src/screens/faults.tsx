import { useSignal } from '@preact/signals'
import { Pill, QueryState, say, Text } from '../components/basics.tsx'
import { plural, share } from '../lib/format.ts'
import { RequestError, sendJson } from '../lib/http.ts'
import { href } from '../lib/router.ts'
import type { FaultRule, Faults } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'

type Rule = Partial<Omit<FaultRule, 'id' | 'remaining'>>

const PRESETS: ReadonlyArray<{ title: string; meaning: string; rule: Rule }> = [
  {
    title: '503 once',
    meaning: 'The next request gets 503 Service Unavailable.',
    rule: { status: 503 },
  },
  {
    title: 'Rate limit',
    meaning: 'The next 3 requests get 429 with Retry-After: 2.',
    rule: { status: 429, headers: { 'retry-after': '2' }, times: 3 },
  },
  { title: '400 once', meaning: 'The next request is refused with 400 Bad Request.', rule: { status: 400 } },
  { title: '401 once', meaning: 'The next request is refused with 401 Unauthorized.', rule: { status: 401 } },
  { title: 'Slow', meaning: 'The next 10 requests wait for 5 seconds.', rule: { delay: 5000, times: 10 } },
  { title: 'Hang', meaning: 'The next request gets no response at all.', rule: { hang: true } },
  { title: 'Reset', meaning: 'The connection of the next request is reset.', rule: { reset: true } },
]

export function FaultsScreen() {
  const query = useQuery<Faults>('api/faults')
  const act = async (method: string, path: string, body: unknown, done: string) => {
    try {
      await sendJson(method, path, body)
      say(done)
    } catch (cause) {
      say(cause instanceof RequestError ? cause.message : String(cause))
    }
    query.reload()
  }
  const add = (rule: Rule) => act('POST', 'api/faults', rule, 'The fault is active')
  const { data } = query
  const isCalm = data !== undefined && data.rules.length === 0 && data.failRate === 0
  return (
    <div class="scroll">
      <div class="screen-head">
        <h2>Faults</h2>
        {data !== undefined && !isCalm && (
          <button
            type="button"
            onClick={() => act('DELETE', 'api/faults', undefined, 'All faults are removed')}
          >
            Remove all faults
          </button>
        )}
      </div>
      <p class="note soft">
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
          <h3>Set a fault</h3>
        </div>
        <ul class="presets">
          {PRESETS.map(({ title, meaning, rule }) => (
            <li key={title}>
              <button type="button" onClick={() => add(rule)}>
                {title}
              </button>
              <span class="soft">{meaning}</span>
            </li>
          ))}
        </ul>
        <FailRate
          now={data?.failRate ?? 0}
          onSet={(failRate) =>
            act('POST', 'api/faults', { failRate }, 'The share of failing requests is set')
          }
        />
        <OwnFault onAdd={add} />
      </section>
      <section class="block">
        <div class="block-head">
          <h3>Active faults</h3>
        </div>
        {isCalm && <p class="soft">No faults: every request is handled as usual.</p>}
        {data !== undefined && data.failRate > 0 && (
          <p>
            <Pill tone="warn">random</Pill> {share(data.failRate, 1)} of all requests get 503.
          </p>
        )}
        <ul class="plain-list rules">
          {data?.rules.map((rule) => (
            <li key={rule.id}>
              <Pill tone="warn">
                {rule.times === null ? 'until removed' : `${rule.remaining} of ${rule.times} left`}
              </Pill>{' '}
              <Text value={ruleInWords(rule)} />{' '}
              <button
                type="button"
                class="quiet"
                onClick={() =>
                  act(
                    'DELETE',
                    `api/faults/${encodeURIComponent(rule.id)}`,
                    undefined,
                    'The fault is removed',
                  )
                }
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
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
  const late = delay > 0 ? `, after ${delay} ms` : ''
  const where = [path !== null && ` on ${path}`, source !== null && ` from ${source}`]
    .filter(Boolean)
    .join('')
  const often = chance < 1 ? `, ${share(chance, 1)} of the time` : ''
  return `${what}${retryAfter}${late}${where}${often}`
}

function FailRate({ now, onSet }: { now: number; onSet(failRate: number): void }) {
  return (
    <label class="fail-rate">
      Share of requests that fail at random
      <select value={String(now)} onChange={(event) => onSet(Number(event.currentTarget.value))}>
        {[0, 0.05, 0.1, 0.2, 0.5, 1].map((failRate) => (
          <option key={failRate} value={String(failRate)}>
            {failRate === 0 ? 'never' : share(failRate, 1)}
          </option>
        ))}
        {![0, 0.05, 0.1, 0.2, 0.5, 1].includes(now) && <option value={String(now)}>{share(now, 1)}</option>}
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
    <details>
      <summary>Another fault</summary>
      <form
        class="own-fault"
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
        <button type="submit" class="primary">
          Set the fault
        </button>
      </form>
    </details>
  )
}
