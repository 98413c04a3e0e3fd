import { connection, latest, quietSeconds } from '../lib/live.ts'
import { isPaused } from '../lib/settings.ts'

export function ConnectionState() {
  const state = connection.value
  const words = {
    connecting: 'connecting',
    live: isPaused.value ? 'paused' : 'live',
    unavailable: 'store unavailable',
    silent: `no data for ${quietSeconds.value} s`,
    lost: 'no connection',
  }
  const explanations = {
    connecting: 'Waiting for the first message of the collector',
    live: isPaused.value ? 'Connected; new items are counted, but not shown' : 'This screen is up to date',
    unavailable: `This screen may be out of date: the store is unavailable (${latest.value?.storeUnavailable ?? 'unknown'})`,
    silent: 'The connection is open, but the collector sends nothing: it may be stopped or very busy',
    lost: 'The collector cannot be reached; the page keeps trying',
  }
  return (
    <p
      id="connection"
      class={`connection ${state}${isPaused.value ? ' paused' : ''}`}
      title={explanations[state]}
    >
      {words[state]}
      {/* Says nothing about the seconds, since a screen reader would announce each change of the number. */}
      <span class="sr-only" role="status">
        {state === 'live' || state === 'connecting' ? '' : explanations[state]}
      </span>
    </p>
  )
}
