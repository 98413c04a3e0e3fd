import { useSignal } from '@preact/signals'
import { attempt, Button, Text } from '../components/basics.tsx'
import { copy } from '../components/copy.tsx'
import { Confirm } from '../components/dialog.tsx'
import { Menu } from '../components/menu.tsx'
import { asCurl, asTrackpost, collectorBase } from '../lib/as-code.ts'
import { about } from '../lib/basics.ts'
import { plural } from '../lib/format.ts'
import { sendJson } from '../lib/http.ts'
import type { EventDetails } from '../lib/types.ts'

interface ActionProps {
  event: EventDetails
  onDone(): void
}

export function EventActions({ event, onDone }: ActionProps) {
  const isReleasing = useSignal(false)
  const { message, sent } = event
  const original = sent ?? message
  const base = collectorBase()
  const target = about.value?.releaseTo ?? null
  const replay = (destination?: string) =>
    attempt(async () => {
      const body = destination === undefined ? {} : { destinations: [destination] }
      const { destinations } = await sendJson<{ destinations: string[] }>(
        'POST',
        `api/events/${encodeURIComponent(event.id)}/replay`,
        body,
      )
      onDone()
      return destinations.length === 0
        ? 'No destination takes this event'
        : `Delivered again to ${destinations.join(', ')}`
    })
  const release = () =>
    attempt(async () => {
      const { released, failed } = await sendJson<{ released: number; failed: Array<{ reason: string }> }>(
        'POST',
        'api/release',
        { ids: [event.id] },
      )
      onDone()
      const [failure] = failed
      return failure === undefined
        ? `${plural(released, 'event')} released`
        : `Not released: ${failure.reason}`
    })
  const names = event.destinations.map(({ name }) => name)
  return (
    <p class="actions">
      {message !== null && original !== null && (
        <Menu label="Copy">
          <Button onClick={() => copy(JSON.stringify(message, null, 2), 'JSON')}>As JSON</Button>
          <Button onClick={() => copy(asCurl(original, base), 'curl command')}>As a curl command</Button>
          <Button onClick={() => copy(asTrackpost(original, base), 'Trackpost code')}>
            As Trackpost code
          </Button>
        </Menu>
      )}
      <a class="button" href={`api/events/${encodeURIComponent(event.id)}/file`} download>
        Save as a file
      </a>
      {event.status === 'accepted' && names.length > 0 && (
        <Menu label="Deliver again">
          <Button onClick={() => replay()}>To all destinations</Button>
          {names.length > 1 &&
            names.map((name) => (
              <Button key={name} onClick={() => replay(name)}>
                To <Text value={name} />
              </Button>
            ))}
        </Menu>
      )}
      {target !== null && original !== null && (
        <Button onClick={() => (isReleasing.value = true)}>Release…</Button>
      )}
      {isReleasing.value && target !== null && (
        <Confirm
          title="Release this event?"
          action="Release"
          onConfirm={release}
          onClose={() => (isReleasing.value = false)}
        >
          <p>
            The event is sent to <strong>{target}</strong>, as its client sent it. For that service it is a
            real event: it may reach customers, and the release cannot be undone.
          </p>
        </Confirm>
      )}
    </p>
  )
}
