import { attempt, Button, Text } from '../components/basics.tsx'
import { copy } from '../components/copy.tsx'
import { Menu } from '../components/menu.tsx'
import { asCurl, collectorBase, requestOf } from '../lib/as-code.ts'
import { sendJson } from '../lib/http.ts'
import type { EventDetails } from '../lib/types.ts'

interface ActionProps {
  event: EventDetails
  onDone(): void
}

export function EventActions({ event, onDone }: ActionProps) {
  const { message, sent } = event
  const original = sent ?? message
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
  const names = event.destinations.map(({ name }) => name)
  return (
    <p class="actions">
      {message !== null && original !== null && (
        <Menu label="Copy">
          <Button onClick={() => copy(JSON.stringify(message, null, 2), 'JSON')}>As JSON</Button>
          <Button onClick={() => copy(asCurl(requestOf(original), collectorBase()), 'curl command')}>
            As a curl command
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
    </p>
  )
}
