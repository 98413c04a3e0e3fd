import { clock } from '../lib/format.ts'
import { type Connection, connection, heardAt, latest, quietSeconds } from '../lib/live.ts'
import { isPaused } from '../lib/settings.ts'
import { Icon } from './basics.tsx'

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
    </p>
  )
}

const TROUBLES: Partial<Record<Connection, string>> = {
  unavailable: 'The store is unavailable',
  silent: 'The collector sends nothing: it may be stopped or very busy',
  lost: 'No connection to the collector',
}

/** Above every screen, as what is below may be old. Has no seconds that pass: a screen reader would announce each of them. */
export function ConnectionLine() {
  const trouble = TROUBLES[connection.value]
  if (trouble === undefined) return null
  const at = heardAt.value
  return (
    <p class="connection-line" role="status">
      <Icon name="problems" />
      <span>
        {trouble}.{' '}
        {at !== undefined && connection.value !== 'unavailable' && (
          <strong>Last update {clock(at).slice(0, 5)}.</strong>
        )}{' '}
        The page keeps trying.
      </span>
    </p>
  )
}
