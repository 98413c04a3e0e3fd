import { type Signal, useSignal } from '@preact/signals'
import { about } from '../lib/basics.ts'
import { deleteEvents, linesOf, MAX_CHOSEN, matchingIds, replayEvents } from '../lib/chosen.ts'
import type { Feed, Question } from '../lib/feed.ts'
import { count, plural } from '../lib/format.ts'
import { getJson } from '../lib/http.ts'
import type { EventPage, EventSummary } from '../lib/types.ts'
import { visibleText } from '../lib/visible-text.ts'
import { attempt, Button } from './basics.tsx'
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
const WORDS: Readonly<Record<Action, { title: string; done: string; warning: string }>> = {
  delete: {
    title: 'Delete',
    done: 'deleted',
    warning:
      'They are deleted for everyone who uses this collector, and their pending deliveries are not sent. Their messageIds stay known: a repeat is still a duplicate.',
  },
  replay: {
    title: 'Deliver again',
    done: 'delivered again',
    warning: 'Each is sent once more to every destination that it was sent to. Rejected events are left out.',
  },
}

interface Targets {
  canReplay: boolean
  count(): Promise<number>
  ids(): Promise<readonly string[]>
  onDone(): void
}

/** Buttons that delete events or deliver them again, and the question before it, which says how many events that would be. */
function useActions({ canReplay, count: countOf, ids, onDone }: Targets) {
  const asked = useSignal<{ action: Action; count: number } | undefined>(undefined)
  const { canAct = true, canDelete = true } = about.value ?? {}
  const ask = (action: Action) =>
    attempt(async () => {
      const number = await countOf()
      if (number === 0) return 'No event matches'
      asked.value = { action, count: number }
      return undefined
    })
  const run = async (action: Action) => {
    await attempt(async () => {
      const chosen = await ids()
      const changed = await (action === 'delete' ? deleteEvents(chosen) : replayEvents(chosen))
      return `${plural(changed, 'event')} ${WORDS[action].done}`
    })
    onDone()
  }
  const buttons = (
    <>
      {canAct && canReplay && <Button onClick={() => ask('replay')}>Deliver again…</Button>}
      {canDelete && (
        <Button class="danger-text" onClick={() => ask('delete')}>
          Delete…
        </Button>
      )}
    </>
  )
  if (asked.value === undefined) return { buttons, question: null }
  const { action, count: matching } = asked.value
  const { title, warning } = WORDS[action]
  const number = Math.min(matching, MAX_CHOSEN)
  const question = (
    <Confirm
      title={`${title}: ${plural(number, 'event')}?`}
      action={`${title} (${count(number)})`}
      isDangerous={action === 'delete'}
      onConfirm={() => run(action)}
      onClose={() => (asked.value = undefined)}
    >
      {matching > number && <p>More events match: these are the newest {count(number)}.</p>}
      <p>{warning}</p>
    </Confirm>
  )
  return { buttons, question }
}

export function PickedBar({ feed, picked }: PickProps) {
  const ids = [...picked.value.keys()]
  const { buttons, question } = useActions({
    canReplay: [...picked.value.values()].some(({ destinations }) => destinations.length > 0),
    count: async () => ids.length,
    ids: async () => ids.slice(0, MAX_CHOSEN),
    onDone: () => {
      picked.value = new Map()
      void feed.reload()
    },
  })
  const lines = (use: (text: string) => Promise<void>) =>
    attempt(async () => {
      await use(await linesOf(ids))
      return undefined
    })
  const save = async (text: string) => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }))
    link.download = 'events.ndjson'
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }
  return (
    <div class="picked-bar" role="group" aria-label="Chosen events">
      <p>{plural(ids.length, 'event')} chosen</p>
      <Button onClick={() => lines((text) => copy(text, plural(ids.length, 'event')))}>Copy</Button>
      <Button onClick={() => lines(save)}>Export</Button>
      {buttons}
      <Button class="quiet" onClick={() => (picked.value = new Map())}>
        Clear the choice
      </Button>
      {question}
    </div>
  )
}

/** The same for all events of the list, loaded or not. */
export function ListActions({ feed, question: listed }: { feed: PickProps['feed']; question: Question }) {
  const { buttons, question } = useActions({
    canReplay: (about.value?.destinations.length ?? 0) > 0,
    count: async () => (await getJson<{ count: number }>(`api/count?${new URLSearchParams(listed)}`)).count,
    ids: () => matchingIds(listed),
    onDone: () => void feed.reload(),
  })
  return (
    <>
      <Menu label="Actions">
        <p class="menu-text">All events of this list</p>
        {buttons}
      </Menu>
      {question}
    </>
  )
}
