import { type Signal, useSignal } from '@preact/signals'
import { about } from '../lib/basics.ts'
import { deleteEvents, linesOf, MAX_CHOSEN, matchingIds, replayEvents } from '../lib/chosen.ts'
import type { Feed, Question as ListQuestion } from '../lib/feed.ts'
import { count, plural } from '../lib/format.ts'
import { getJson, RequestError } from '../lib/http.ts'
import type { EventPage, EventSummary } from '../lib/types.ts'
import { visibleText } from '../lib/visible-text.ts'
import { say } from './basics.tsx'
import { copy } from './copy.tsx'
import { Confirm } from './dialog.tsx'
import { titleOf } from './event-cells.tsx'
import { Menu } from './menu.tsx'

export type Picked = Signal<ReadonlyMap<string, EventSummary>>

interface PickProps {
  feed: Feed<EventSummary, EventPage>
  picked: Picked
}

/** The last box that was clicked. A click with the shift key chooses the rows up to this one. */
let anchor: string | undefined

export function pick(picked: Picked, events: readonly EventSummary[], isChosen: boolean): void {
  const next = new Map(picked.peek())
  for (const one of events) {
    if (isChosen) next.set(one.id, one)
    else next.delete(one.id)
  }
  picked.value = next
}

/** The box of one event, or of all loaded events. */
export function PickBox({ event, feed, picked }: PickProps & { event?: EventSummary }) {
  const items = feed.items.value
  const isAll = items.length > 0 && items.every(({ id }) => picked.value.has(id))
  const isPicked = event === undefined ? isAll : picked.value.has(event.id)
  const choose = (isShift: boolean) => {
    let range = event === undefined ? items : [event]
    if (event !== undefined && isShift) {
      const ends = [anchor, event.id].map((id) => items.findIndex((one) => one.id === id))
      if (!ends.includes(-1)) range = items.slice(Math.min(...ends), Math.max(...ends) + 1)
    }
    anchor = event?.id
    pick(picked, range, !isPicked)
  }
  const box = (
    <label onClick={(click) => click.stopPropagation()}>
      <input
        type="checkbox"
        tabIndex={event === undefined ? 0 : -1}
        aria-label={
          event === undefined ? 'Choose all loaded events' : `Choose ${visibleText(titleOf(event))}`
        }
        checked={isPicked}
        onClick={(click) => {
          click.stopPropagation()
          choose(click.shiftKey)
        }}
      />
    </label>
  )
  return event === undefined ? (
    box
  ) : (
    <span class="cell pick" role="gridcell">
      {box}
    </span>
  )
}

type Action = 'delete' | 'replay'

/** What happens to the events, in the words of the question and of the notice. */
const WORDS: Readonly<Record<Action, { title: string; button: string; done: string; warning: string }>> = {
  delete: {
    title: 'Delete',
    button: 'Delete',
    done: 'deleted',
    warning:
      'They are deleted for everyone who uses this collector, and their pending deliveries are not sent. Their messageIds stay known: a repeat is still a duplicate.',
  },
  replay: {
    title: 'Deliver again',
    button: 'Deliver again',
    done: 'delivered again',
    warning: 'Each is sent once more to every destination that it was sent to. Rejected events are left out.',
  },
}

/** Asks before it deletes or delivers again, and says how many events that would be. */
export function Question({
  action,
  count: number,
  isCut,
  ids,
  onDone,
  onClose,
}: {
  action: Action
  count: number
  /** Whether more events match than one action takes. */
  isCut: boolean
  ids(): Promise<readonly string[]>
  onDone(): void
  onClose(): void
}) {
  const { title, button, done, warning } = WORDS[action]
  const run = async () => {
    try {
      const chosen = await ids()
      const changed = await (action === 'delete' ? deleteEvents(chosen) : replayEvents(chosen))
      say(`${plural(changed, 'event')} ${done}`)
    } catch (cause) {
      say(cause instanceof RequestError ? cause.message : String(cause))
    }
    onDone()
  }
  return (
    <Confirm
      title={`${title}: ${plural(number, 'event')}?`}
      action={`${button} (${count(number)})`}
      isDangerous={action === 'delete'}
      onConfirm={run}
      onClose={onClose}
    >
      {isCut && <p>More events match: these are the newest {count(number)}.</p>}
      <p>{warning}</p>
    </Confirm>
  )
}

export function PickedBar({ feed, picked }: PickProps) {
  const asked = useSignal<Action | undefined>(undefined)
  const ids = [...picked.value.keys()]
  const lines = async (use: (text: string) => unknown) => {
    try {
      await use(await linesOf(ids))
    } catch (cause) {
      say(cause instanceof RequestError ? cause.message : String(cause))
    }
  }
  const save = (text: string) => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }))
    link.download = 'events.ndjson'
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }
  const canReplay =
    about.value?.canAct !== false &&
    [...picked.value.values()].some(({ destinations }) => destinations.length > 0)
  return (
    <div class="picked-bar" role="group" aria-label="Chosen events">
      <p>{plural(ids.length, 'event')} chosen</p>
      <button type="button" onClick={() => lines((text) => copy(text, plural(ids.length, 'event')))}>
        Copy
      </button>
      <button type="button" onClick={() => lines(save)}>
        Export
      </button>
      {canReplay && (
        <button type="button" onClick={() => (asked.value = 'replay')}>
          Deliver again…
        </button>
      )}
      {about.value?.canDelete !== false && (
        <button type="button" class="danger-text" onClick={() => (asked.value = 'delete')}>
          Delete…
        </button>
      )}
      <button type="button" class="quiet" onClick={() => (picked.value = new Map())}>
        Clear the choice
      </button>
      {asked.value !== undefined && (
        <Question
          action={asked.value}
          count={ids.length}
          isCut={false}
          ids={async () => ids}
          onDone={() => {
            picked.value = new Map()
            void feed.reload()
          }}
          onClose={() => (asked.value = undefined)}
        />
      )}
    </div>
  )
}

/** The same for all events of the list, loaded or not. */
export function ListActions({ feed, question }: { feed: PickProps['feed']; question: ListQuestion }) {
  const asked = useSignal<{ action: Action; count: number } | undefined>(undefined)
  const ask = async (action: Action) => {
    try {
      const { count: number } = await getJson<{ count: number }>(`api/count?${new URLSearchParams(question)}`)
      if (number === 0) say('No event matches')
      else asked.value = { action, count: number }
    } catch (cause) {
      say(cause instanceof RequestError ? cause.message : String(cause))
    }
  }
  return (
    <>
      <Menu label="Actions">
        <p class="menu-head">All events of this list</p>
        {about.value?.canAct !== false && (about.value?.destinations.length ?? 0) > 0 && (
          <button type="button" onClick={() => ask('replay')}>
            Deliver again…
          </button>
        )}
        {about.value?.canDelete !== false && (
          <button type="button" class="danger-text" onClick={() => ask('delete')}>
            Delete…
          </button>
        )}
      </Menu>
      {asked.value !== undefined && (
        <Question
          action={asked.value.action}
          count={Math.min(asked.value.count, MAX_CHOSEN)}
          isCut={asked.value.count > MAX_CHOSEN}
          ids={() => matchingIds(question)}
          onDone={() => void feed.reload()}
          onClose={() => (asked.value = undefined)}
        />
      )}
    </>
  )
}
