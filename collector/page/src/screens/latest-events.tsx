import { EventCells, isRepeat } from '../components/event-cells.tsx'
import { dayKey, dayName } from '../lib/format.ts'
import { today } from '../lib/live.ts'
import { go, href } from '../lib/router.ts'
import type { EventPage } from '../lib/types.ts'
import { useQuery } from '../lib/use-query.ts'

const SHOWN = 8

export function LatestEvents() {
  const { data } = useQuery<EventPage>(`api/events?order=newest&limit=${SHOWN}&view=summary`)
  if (data === undefined || data.events.length === 0) return null
  return (
    <section class="block">
      <div class="block-head">
        <h3>Latest events</h3>
        <a href={href('events')}>All events</a>
      </div>
      <EventRows events={data.events} label="Latest events" />
    </section>
  )
}

export function EventRows({ events, label, q }: { events: EventPage['events']; label: string; q?: string }) {
  return (
    <div class="event-rows sheet" role="table" aria-label={label}>
      {events.flatMap((event, index) => {
        const before = events[index - 1]
        const address = href('events', { q, open: event.id })
        const day = dayKey(event.receivedAt)
        const isNewDay = day !== (before === undefined ? today.value : dayKey(before.receivedAt))
        const separator = isNewDay && (
          <div class="day-row" role="row" key={`day ${day}`}>
            <span role="cell">{dayName(event.receivedAt, Date.now())}</span>
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
            <EventCells
              event={event}
              isContinued={!isNewDay && event.request !== null && before?.request === event.request}
              href={address}
            />
          </div>,
        ]
      })}
    </div>
  )
}
