import { EventCells, isRepeat, type TimeOf } from '../components/event-cells.tsx'
import { dayKey, dayName } from '../lib/format.ts'
import { today } from '../lib/live.ts'
import { go, href } from '../lib/router.ts'
import type { EventPage } from '../lib/types.ts'

interface RowsProps {
  events: EventPage['events']
  label: string
  q?: string
  timeOf?: TimeOf
}

export function EventRows({ events, label, q, timeOf = ({ receivedAt }) => receivedAt }: RowsProps) {
  return (
    <div class="event-rows sheet" role="table" aria-label={label}>
      {events.flatMap((event, index) => {
        const before = events[index - 1]
        const address = href('events', { q, open: event.id })
        const day = dayKey(timeOf(event))
        const isNewDay = day !== (before === undefined ? today.value : dayKey(timeOf(before)))
        const separator = isNewDay && (
          <div class="day-row" role="row" key={`day ${day}`}>
            <span role="cell">{dayName(timeOf(event), Date.now())}</span>
          </div>
        )
        return [
          separator,
          <div
            class={`row${isRepeat(event) ? ' is-repeat' : ''}`}
            role="row"
            key={event.id}
            onClick={() => go(address)}
          >
            <EventCells event={event} timeOf={timeOf} href={address} />
          </div>,
        ]
      })}
    </div>
  )
}
