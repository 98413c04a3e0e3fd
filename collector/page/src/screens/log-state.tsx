import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Ago, attempt, Button, Figure, Pill, Text } from '../components/basics.tsx'
import { about } from '../lib/basics.ts'
import { count, duration, plural } from '../lib/format.ts'
import { getJson, sendJson } from '../lib/http.ts'
import type { DeadLetter, LogState } from '../lib/types.ts'

const REFRESH_MS = 2000
const SHOWN = 20
/** A list of more dead letters than this is folded at first. Otherwise the list would fill the overview. */
const FEW = 5

interface DeadLetters {
  letters: readonly DeadLetter[]
  total: number
}
const NOTHING: DeadLetters = { letters: [], total: 0 }

export function LogBlock() {
  const state = useSignal<LogState | undefined>(undefined)
  const shown = useSignal<DeadLetters>(NOTHING)
  const round = useSignal(0)
  const hasLog = about.value?.log != null
  const again = round.value

  useEffect(() => {
    if (!hasLog) return
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      try {
        const { log } = await getJson<{ log?: LogState }>('api/stats', gone.signal)
        state.value = log
        if (log?.deadLetters === 0) shown.value = NOTHING
        // While the log does not respond, the last list stays on the screen.
        else if (log != null && log.deadLetters !== null) {
          const path = `api/dead-letters?limit=${SHOWN}`
          const { deadLetters } = await getJson<{ deadLetters: DeadLetter[] }>(path, gone.signal)
          shown.value = { letters: deadLetters, total: Math.max(log.deadLetters, deadLetters.length) }
        }
      } catch {
        // The last state stays on the screen. On the overview, `ConnectionState` shows that the collector cannot be reached.
      }
      if (!gone.signal.aborted) timer = setTimeout(look, REFRESH_MS)
    }
    void look()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [hasLog, again])

  if (!hasLog || state.value === undefined) return null
  const { isReady, reason, waiting, oldestMs, deadLetters, areDeadLettersFull } = state.value
  const number = (value: number | null) => (value === null ? '–' : count(value))
  return (
    <section class="block log-state" aria-label="Log">
      <div class="block-head">
        <h3>
          Log <Pill tone={isReady ? 'good' : 'bad'}>{isReady ? 'ready' : 'not ready'}</Pill>
        </h3>
        <p class="soft">
          <Text value={about.value?.log ?? ''} />
        </p>
      </div>
      <div class="sheet">
        {reason !== null && (
          <p class="bad-text">
            <Text value={reason} />
          </p>
        )}
        <dl class="figures">
          <Figure title="Messages in the log" value={number(waiting)} />
          <Figure title="Age of the oldest" value={oldestMs === null ? '–' : duration(oldestMs)} />
          <Figure title="Dead letters" value={number(deadLetters)} isBad={(deadLetters ?? 0) > 0} />
        </dl>
        {areDeadLettersFull === true && (
          <p class="bad-text">
            There is no room for more dead letters: further messages that the store refuses stay in the log.
            Try some dead letters again, or discard them.
          </p>
        )}
        {shown.value.letters.length > 0 && <DeadLetterList {...shown.value} onDone={() => round.value++} />}
      </div>
    </section>
  )
}

function DeadLetterList({ letters, total, onDone }: DeadLetters & { onDone(): void }) {
  const isBusy = useSignal(false)
  /** The id of a dead letter whose discard button was clicked once. The second click discards it permanently. */
  const doomed = useSignal<string | undefined>(undefined)
  const retry = (ids?: string[]) =>
    change(async () => {
      const body = ids === undefined ? {} : { ids }
      const { retried } = await sendJson<{ retried: number }>('POST', 'api/dead-letters/retry', body)
      return retried === 0 ? 'There was nothing to try again' : `${plural(retried, 'event')} tried again`
    })
  const discard = (id: string) =>
    change(async () => {
      const body = { ids: [id] }
      const { discarded } = await sendJson<{ discarded: number }>('POST', 'api/dead-letters/discard', body)
      return discarded === 0 ? 'The dead letter had already been removed' : 'Discarded'
    })
  const change = async (run: () => Promise<string>) => {
    // The buttons stay enabled during the request, because a disabled button loses the focus to the top of the page.
    if (isBusy.value) return
    isBusy.value = true
    doomed.value = undefined
    await attempt(run)
    isBusy.value = false
    onDone()
  }
  return (
    <>
      <p>
        The store has refused these messages:{' '}
        <Button class="quiet" aria-disabled={isBusy.value} onClick={() => retry()}>
          Try all again
        </Button>
      </p>
      <details open={letters.length <= FEW}>
        <summary>
          {letters.length < total
            ? `The first ${letters.length} of ${count(total)} dead letters`
            : plural(total, 'dead letter')}
        </summary>
        <ul class="failures">
          {letters.map(({ id, at, reason, source, name, messageId }) => (
            <li key={id}>
              <span>
                <strong>
                  <Text value={name ?? 'a message that cannot be read'} />
                </strong>
                {source !== null && source !== '' && (
                  <>
                    {' '}
                    of <Text value={source} />
                  </>
                )}
                {messageId !== null && (
                  <>
                    ,{' '}
                    <code>
                      <Text value={messageId} />
                    </code>
                  </>
                )}
                , <Ago at={at} />
                <br />
                <span class="soft">
                  <Text value={reason} />
                </span>
              </span>
              <Button class="quiet" aria-disabled={isBusy.value} onClick={() => retry([id])}>
                Try again
              </Button>
              {doomed.value === id ? (
                <Button class="quiet bad-text" aria-disabled={isBusy.value} onClick={() => discard(id)}>
                  Discard permanently
                </Button>
              ) : (
                <Button class="quiet" aria-disabled={isBusy.value} onClick={() => (doomed.value = id)}>
                  Discard
                </Button>
              )}
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}
