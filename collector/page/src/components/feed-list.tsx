import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Feed, Item } from '../lib/feed.ts'
import { type Filter, filterTerm } from '../lib/filters.ts'
import { capitalised, dayKey, dayName, plural } from '../lib/format.ts'
import { isPaused, today } from '../lib/live.ts'
import { hrefWith } from '../lib/router.ts'
import type { Suggestion } from '../lib/suggest.ts'
import type { LiveFeed } from '../lib/use-feed.ts'
import type { ListAddress } from '../lib/use-list-address.ts'
import { useWidth } from '../lib/use-width.ts'
import { Button, Icon, Nothing } from './basics.tsx'
import { FilterMenu, TimeFilter } from './filter-menu.tsx'
import { FirstSteps } from './first-steps.tsx'
import { isHelping } from './more-menu.tsx'
import { Screen } from './screen.tsx'
import { SearchLine } from './search-line.tsx'
import { type Line, VirtualList } from './virtual-list.tsx'

/** The title may be a control, for example the choice between two times. */
export type Column = readonly [title: ComponentChildren, className: string]

interface FeedListProps<T extends Item> {
  /** In the singular, such as `event`. */
  noun: string
  /** A search, for the empty search line. */
  example: string
  list: LiveFeed<T>
  address: ListAddress
  timeOf(item: T): string
  columns: readonly Column[]
  cells(item: T): ComponentChildren
  rowClass?(item: T): string
  filters: readonly Filter[]
  suggestions: readonly Suggestion[]
  actions: ComponentChildren
  /** Takes the place of the filters. */
  bar?: ComponentChildren
  panel: ComponentChildren
  class?: string
  onKey?(event: KeyboardEvent, item: T): void
}

/** Rows have two lines if the list is narrower than this. */
const TWO_LINES_BELOW = 860
const ROW = 37
const TWO_LINE_ROW = 61

function linesOf<T extends Item>(items: readonly T[], timeOf: (item: T) => string): Line<T>[] {
  const lines: Line<T>[] = []
  let before: string | undefined
  for (const item of items) {
    const time = timeOf(item)
    const day = dayKey(time)
    if (before !== day) lines.push({ key: `day ${day}`, day: dayName(time, Date.now()) })
    lines.push({ key: item.id, item })
    before = day
  }
  return lines
}

export function FeedList<T extends Item>(props: FeedListProps<T>) {
  const { noun, address, filters, timeOf } = props
  const { feed, onView } = props.list
  const { line, setLine, openId, open, question } = address
  const title = `${capitalised(noun)}s`
  const selected = useSignal<string | undefined>(openId)
  const isAtTop = useSignal(true)
  const [box, width] = useWidth<HTMLElement>()
  const items = feed.items.value
  // Depends on `today`, since the separator "Today" becomes "Yesterday" at midnight.
  const lines = useMemo(() => linesOf(items, timeOf), [items, today.value])
  const isTwoLine = width > 0 && width < TWO_LINES_BELOW
  useEffect(() => {
    if (openId !== undefined) selected.value = openId
  }, [openId, selected])
  const frame = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && openId === undefined) (document.activeElement as HTMLElement).blur()
  }
  const isEmpty = items.length === 0 && !feed.isStale.value && feed.error.value === undefined
  const rowList = isEmpty ? (
    <div class="scroll">
      {Object.keys(question).length > 0 ? <NoneMatches noun={noun} /> : <FirstSteps />}
    </div>
  ) : (
    <div class="list-frame" ref={frame} onKeyDown={onKeyDown}>
      {feed.isLoading.value && <div class="searching" />}
      <VirtualList<T>
        label={`${title}, newest first`}
        lines={lines}
        rowHeight={isTwoLine ? TWO_LINE_ROW : ROW}
        cells={props.cells}
        rowClass={props.rowClass}
        selectedKey={selected.value}
        isStale={feed.isStale.value}
        isOld={feed.isStale.value && feed.error.value !== undefined && feed.error.value.status !== 400}
        onSelect={(key, isOpened) => {
          selected.value = key
          if (isOpened || openId !== undefined) open(key)
        }}
        onKey={props.onKey}
        onNearEnd={() => void feed.loadOlder()}
        onView={(view) => {
          isAtTop.value = view.isAtTop
          onView(view)
        }}
        head={isTwoLine ? undefined : <Columns columns={props.columns} />}
      />
    </div>
  )
  return (
    <Screen
      title={title}
      class={`${noun}s ${props.class ?? ''}`}
      paneRef={box}
      state={
        <>
          <p role="status">{stateInWords(noun, feed)}</p>
          <ToNewest noun={noun} feed={feed} isAtTop={isAtTop.value} frame={frame} />
        </>
      }
      actions={props.actions}
      tools={
        <>
          <SearchLine
            label={`Search ${noun}s`}
            placeholder={`Search ${noun}s: a word, or ${props.example}`}
            line={line}
            onLine={setLine}
            suggestions={props.suggestions}
            error={feed.error.value}
            onRetry={() => void feed.reload()}
            hidden={new Set(filters.flatMap((filter) => filterTerm(line, filter)?.index ?? []))}
          />
          {props.bar ?? (
            <div class="filters">
              {filters.map((filter) => (
                <FilterMenu key={filter.title} filter={filter} line={line} setLine={setLine} />
              ))}
              <TimeFilter />
            </div>
          )}
        </>
      }
      list={rowList}
      panel={props.panel}
    />
  )
}

function Columns({ columns }: { columns: readonly Column[] }) {
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

function NoneMatches({ noun }: { noun: string }) {
  return (
    <Nothing title={`No ${noun} matches`}>
      <p>
        A word is searched in the whole {noun}.{' '}
        <Button class="quiet" onClick={() => (isHelping.value = true)}>
          What else a search can say
        </Button>
      </p>
      <a class="button" href={hrefWith({ q: undefined, from: undefined, to: undefined })}>
        Show all {noun}s
      </a>
    </Nothing>
  )
}

interface StateProps {
  noun: string
  feed: Feed<Item>
}

interface NewestProps extends StateProps {
  isAtTop: boolean
  frame: { current: HTMLElement | null }
}

/** Above the list, where it covers no row and moves none: how many items are new, and the way to the newest ones. */
function ToNewest({ noun, feed, isAtTop, frame }: NewestProps) {
  const waiting = feed.waiting.value
  if (waiting === 0 && isAtTop) return null
  const showNewest = () => {
    frame.current?.querySelector('.list')?.scrollTo({ top: 0 })
    if (waiting === 0) return
    isPaused.value = false
    void feed.follow(false)
  }
  return (
    <Button class={waiting > 0 ? 'new-events' : 'to-newest'} onClick={showNewest}>
      <Icon name="up" /> {waiting > 0 ? plural(waiting, `new ${noun}`) : 'To the newest'}
    </Button>
  )
}

function stateInWords(noun: string, feed: StateProps['feed']): string {
  const shown = plural(feed.items.value.length, noun)
  const error = feed.error.value
  if (error !== undefined && feed.items.value.length === 0) return 'Nothing could be loaded.'
  // If the first request of this search failed, the rows are still those of the previous search.
  if (error !== undefined && error.status !== 400) return `${shown} loaded before the error`
  if (feed.isLoading.value && feed.items.value.length === 0) return 'Searching…'
  return feed.hasMore.value ? `the newest ${shown}` : shown
}
