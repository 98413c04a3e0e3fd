import { clock } from '../lib/format.ts'
import { connection, heardAt, isPaused, latest, quietSeconds } from '../lib/live.ts'
import { Icon } from './basics.tsx'

/** The state of the connection in a word, and in a sentence. */
function stateInWords(): readonly [word: string, sentence: string] {
  switch (connection.value) {
    case 'connecting':
      return ['connecting', 'Waiting for the first message of the collector']
    case 'live':
      return isPaused.value
        ? ['paused', 'Connected; new items are counted, but not shown']
        : ['live', 'This screen is up to date']
    case 'unavailable':
      return ['store unavailable', `The store is unavailable: ${latest.value?.storeUnavailable ?? 'unknown'}`]
    case 'silent':
      return [
        `no data for ${quietSeconds.value} s`,
        'The collector sends nothing: it may be stopped or very busy',
      ]
    case 'lost':
      return ['no connection', 'No connection to the collector']
  }
}

export function ConnectionState() {
  const [word, sentence] = stateInWords()
  return (
    <p
      id="connection"
      class={`connection ${connection.value}${isPaused.value ? ' paused' : ''}`}
      title={sentence}
    >
      {word}
    </p>
  )
}

/** Above every screen, as what is below may be old. Has no seconds that pass: a screen reader would announce each of them. */
export function ConnectionLine() {
  const state = connection.value
  if (state === 'connecting' || state === 'live') return null
  const [, sentence] = stateInWords()
  const at = heardAt.value
  return (
    <p class="connection-line" role="status">
      <Icon name="problems" />
      <span>
        {sentence}.{' '}
        {at !== undefined && state !== 'unavailable' && <strong>Last update {clock(at).slice(0, 5)}.</strong>}{' '}
        The page keeps trying.
      </span>
    </p>
  )
}
