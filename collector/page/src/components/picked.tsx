import { type Signal, useSignal } from '@preact/signals'
import { deleteEvents, linesOf, MAX_CHOSEN } from '../lib/chosen.ts'
import type { Feed } from '../lib/feed.ts'
import { count, plural } from '../lib/format.ts'
import type { EventSummary } from '../lib/types.ts'
import { visibleText } from '../lib/visible-text.ts'
import { attempt, Button } from './basics.tsx'
import { copy } from './copy.tsx'
import { Confirm } from './dialog.tsx'
import { titleOf } from './event-cells.tsx'

export type Picked = Signal<ReadonlyMap<string, EventSummary>>

interface PickProps {
  feed: Feed<EventSummary>
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

interface DeletionProps {
  /** Finds what is to be deleted, before the question. */
  find(): Promise<readonly string[]>
  onDone(): void
}

/** Deletes events after a question that says how many they are. */
export function DeleteButton({ find, onDone }: DeletionProps) {
  const found = useSignal<readonly string[] | undefined>(undefined)
  const ids = found.value ?? []
  const ask = () =>
    attempt(async () => {
      found.value = await find()
      return found.value.length === 0 ? 'No event matches' : undefined
    })
  const run = async () => {
    await attempt(async () => `${plural(await deleteEvents(ids), 'event')} deleted`)
    onDone()
  }
  return (
    <>
      <Button class="danger-text" onClick={ask}>
        Delete…
      </Button>
      {ids.length > 0 && (
        <Confirm
          title={`Delete: ${plural(ids.length, 'event')}?`}
          action={`Delete (${count(ids.length)})`}
          onConfirm={run}
          onClose={() => (found.value = undefined)}
        >
          {ids.length === MAX_CHOSEN && <p>These are the newest: if more events match, they stay.</p>}
          <p>
            This deletes for everyone who uses this collector, and pending deliveries are not sent. An event
            that is sent again afterwards counts as new.
          </p>
        </Confirm>
      )}
    </>
  )
}

interface BarProps extends PickProps {
  onCompare(newer: string, older: string): void
}

export function PickedBar({ feed, picked, onCompare }: BarProps) {
  const ids = [...picked.value.keys()]
  const [older, newer] = [...picked.value.values()].sort((a, b) => a.seq - b.seq)
  const onDeleted = () => {
    picked.value = new Map()
    void feed.reload()
  }
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
      {ids.length === 2 && older !== undefined && newer !== undefined && (
        <Button class="primary" onClick={() => onCompare(newer.id, older.id)}>
          Compare
        </Button>
      )}
      <Button onClick={() => lines((text) => copy(text, plural(ids.length, 'event')))}>Copy</Button>
      <Button onClick={() => lines(save)}>Export</Button>
      <DeleteButton find={async () => ids} onDone={onDeleted} />
      <Button class="quiet" onClick={() => (picked.value = new Map())}>
        Clear the choice
      </Button>
    </div>
  )
}
