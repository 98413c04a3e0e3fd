import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Feed, Question } from '../lib/feed.ts'
import { dayKey, dayName, plural } from '../lib/format.ts'
import { today } from '../lib/live.ts'
import { hrefWith } from '../lib/router.ts'
import { isPaused } from '../lib/settings.ts'
import type { PageOf } from '../lib/types.ts'
import type { View } from '../lib/use-feed.ts'
import type { ListAddress } from '../lib/use-list-address.ts'
import { useWidth } from '../lib/use-width.ts'
import { Icon, Nothing } from './basics.tsx'
import { VirtualList } from './virtual-list.tsx'

type Row<T> =
  | { kind: 'day'; key: string; label: string }
  | { kind: 'row'; key: string; item: T; before: T | undefined }

interface FeedListProps<T extends { id: string; seq?: number }> {
  /** In the singular, such as `event`. */
  noun: string
  label: string
  feed: Feed<T, PageOf>
  address: ListAddress
  timeOf(item: T): string
  columns: ReadonlyArray<readonly [title: string, className: string]>
  /** `before` is the item above, if both are of the same day. */
  cells(item: T, before: T | undefined, isTwoLine: boolean): ComponentChildren
  tools(width: number): ComponentChildren
  whenEmpty: ComponentChildren
  onView(view: View<T>): void
  onKey?(event: KeyboardEvent, item: T): void
}

/** Rows have two lines if the list is narrower than this. */
const TWO_LINES_BELOW = 760
const ROW = 30
const TWO_LINE_ROW = 54
const SEPARATOR = 28
/** The height of the table head in pixels. Must be equal to the height in the styles of `.columns`. */
const HEAD = 26

function rowsOf<T extends { id: string }>(items: readonly T[], timeOf: (item: T) => string): Row<T>[] {
  const rows: Row<T>[] = []
  let before: T | undefined
  for (const item of items) {
    const time = timeOf(item)
    const day = dayKey(time)
    if (before === undefined || dayKey(timeOf(before)) !== day) {
      rows.push({ kind: 'day', key: `day ${day}`, label: dayName(time, Date.now()) })
      before = undefined
    }
    rows.push({ kind: 'row', key: item.id, item, before })
    before = item
  }
  return rows
}

export function FeedList<T extends { id: string; seq?: number }>(props: FeedListProps<T>) {
  const { noun, feed, address, timeOf } = props
  const { openId, open, question } = address
  const selected = useSignal<string | undefined>(openId)
  const [box, width] = useWidth<HTMLDivElement>()
  const items = feed.items.value
  // Depends on `today`, since the separator "Today" becomes "Yesterday" at midnight.
  const rows = useMemo(() => rowsOf(items, timeOf), [items, today.value])
  const isTwoLine = width > 0 && width < TWO_LINES_BELOW
  useEffect(() => {
    if (openId !== undefined) selected.value = openId
  }, [openId, selected])
  const isEmpty = items.length === 0 && !feed.isStale.value && feed.error.value === undefined
  return (
    <section class={`${noun}s`} aria-label={`${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`} ref={box}>
      <div class="tools">{props.tools(width)}</div>
      <State noun={noun} feed={feed} question={question} />
      {isEmpty ? (
        <Empty noun={noun} question={question}>
          {props.whenEmpty}
        </Empty>
      ) : (
        <VirtualList<Row<T>>
          label={props.label}
          items={rows}
          keyOf={({ key }) => key}
          isRow={({ kind }) => kind === 'row'}
          heightOf={({ kind }) => (kind === 'day' ? SEPARATOR : isTwoLine ? TWO_LINE_ROW : ROW)}
          selectedKey={selected.value}
          isStale={feed.isStale.value}
          onSelect={({ key }, isOpened) => {
            selected.value = key
            if (isOpened || openId !== undefined) open(key)
          }}
          onKey={(event, row) => {
            if (row?.kind === 'row') props.onKey?.(event, row.item)
          }}
          onNearEnd={() => void feed.loadOlder()}
          onView={(isAtTop, visible) =>
            props.onView({
              isAtTop,
              visible: visible.flatMap((row) => (row.kind === 'row' ? [row.item] : [])),
            })
          }
          head={isTwoLine ? undefined : <Columns columns={props.columns} />}
          headHeight={isTwoLine ? 0 : HEAD}
          render={(row) =>
            row.kind === 'day' ? (
              <span role="gridcell" class="day">
                {row.label}
              </span>
            ) : (
              props.cells(row.item, row.before, isTwoLine)
            )
          }
        />
      )}
    </section>
  )
}

function Columns({ columns }: { columns: FeedListProps<never>['columns'] }) {
  return (
    <div class="columns" role="row">
      {columns.map(([title, className]) => (
        <span key={className} role="columnheader" class={`cell ${className}`}>
          {title}
        </span>
      ))}
    </div>
  )
}

function Empty({
  noun,
  question,
  children,
}: {
  noun: string
  question: Question
  children: ComponentChildren
}) {
  if (Object.keys(question).length === 0) return <>{children}</>
  return (
    <Nothing title={`No ${noun} matches`}>
      <a class="button" href={hrefWith({ q: undefined, from: undefined, to: undefined })}>
        Show all {noun}s
      </a>
    </Nothing>
  )
}

interface StateProps {
  noun: string
  feed: Feed<{ id: string }, PageOf>
  question: Question
}

function State({ noun, feed, question }: StateProps) {
  const { from, to } = question
  const waiting = feed.waiting.value
  const showNew = () => {
    document.querySelector('.list')?.scrollTo({ top: 0 })
    isPaused.value = false
    void feed.follow(false)
  }
  return (
    <div class="summary">
      <p role="status">{stateInWords(noun, feed)}</p>
      {(from !== undefined || to !== undefined) && (
        <a class="chip" href={hrefWith({ from: undefined, to: undefined })} title="Show all times">
          <span class="chip-text">{rangeInWords(from, to)}</span>
          <Icon name="close" />
        </a>
      )}
      {waiting > 0 && (
        <button type="button" class="new-events" onClick={showNew}>
          <Icon name="up" /> {plural(waiting, `new ${noun}`)}
        </button>
      )}
    </div>
  )
}

function stateInWords(noun: string, feed: StateProps['feed']): string {
  const shown = plural(feed.items.value.length, noun)
  const searchedTo = feed.searchedTo.value
  if (feed.error.value !== undefined) {
    // If the first request of this search failed, the rows are still those of the previous search.
    return feed.items.value.length === 0 ? 'Nothing could be loaded.' : `${shown} loaded before the error`
  }
  if (feed.isLoading.value) return 'Searching…'
  if (searchedTo !== null) return `${shown} so far; searched back to ${dayName(searchedTo, Date.now())}`
  return feed.hasMore.value ? `${shown} loaded, more below` : shown
}

/** In the API, `-15m` means "the last 15 minutes". */
function rangeInWords(from: string | undefined, to: string | undefined): string {
  const word = (at: string) =>
    at.startsWith('-') ? `the last ${at.slice(1)}` : new Date(at).toLocaleString('en-GB')
  if (from !== undefined && to !== undefined) return `${word(from)} to ${word(to)}`
  if (from === undefined) return `before ${word(to ?? '')}`
  return from.startsWith('-') ? word(from) : `since ${word(from)}`
}
