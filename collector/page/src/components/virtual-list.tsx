import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { View } from '../lib/use-feed.ts'

/** An item, or the name of the day of the items below it. */
export type Line<T> = { key: string; item: T } | { key: string; day: string }

/** The rows have known heights and stable keys. */
interface ListProps<T> {
  label: string
  lines: ReadonlyArray<Line<T>>
  /** In pixels. */
  rowHeight: number
  cells(item: T): ComponentChildren
  rowClass?: ((item: T) => string) | undefined
  selectedKey: string | undefined
  /** `isOpened` is true after a click or Enter, and false if the user has only moved to the row. */
  onSelect(key: string, isOpened: boolean): void
  onKey?: ((event: KeyboardEvent, item: T) => void) | undefined
  onNearEnd(): void
  onView(view: View<T>): void
  /** Stays above the rows while they scroll. */
  head: ComponentChildren
  /** The items belong to an earlier query. */
  isStale: boolean
  /** The items could not be replaced by those of the current query, and are shown in grey. */
  isOld: boolean
}

/** The height of the line with the name of a day. */
const DAY = 40
/** The height of the table head in pixels. Must be equal to the height in the styles of `.columns`. */
const HEAD = 32

function useVirtualizer<T>({ lines, rowHeight }: ListProps<T>, scroller: { current: HTMLDivElement | null }) {
  const [, redraw] = useReducer<number, void>((round) => round + 1, 0)
  const options = {
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index: number) => ('item' in (lines[index] as Line<T>) ? rowHeight : DAY),
    getItemKey: (index: number) => (lines[index] as Line<T>).key,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(),
  }
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options))
  virtualizer.setOptions({ ...virtualizer.options, ...options })
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  return virtualizer
}

/** Up to this scroll position, in pixels, the list counts as scrolled to its top and shows new rows. */
const TOP = 8

/**
 * Scrolls to the selected row when its height changes and when another row is selected. A row can be selected in the list, by
 * the address, and by a link in the details of an event.
 */
function useSelectedInView<T>(
  { lines, rowHeight, selectedKey, head }: ListProps<T>,
  virtualizer: Virtualizer<HTMLDivElement, HTMLDivElement>,
  scroller: { current: HTMLDivElement | null },
): number {
  const shown = useRef('')
  const index = lines.findIndex(({ key }) => key === selectedKey)
  useLayoutEffect(() => {
    const box = scroller.current
    const start = virtualizer.measurementsCache[index]?.start
    if (index < 0) shown.current = ''
    const wanted = `${rowHeight} ${selectedKey}`
    if (box === null || start === undefined || shown.current === wanted) return
    shown.current = wanted
    const highest = start + rowHeight + (head === undefined ? 0 : HEAD) - box.clientHeight
    // The name of the day stays visible.
    const lowest = start - DAY
    if (box.scrollTop > lowest) box.scrollTop = lowest
    else if (box.scrollTop < highest) box.scrollTop = highest
  })
  return index
}

/** Undefined for the name of a day. */
function itemOf<T>(line: Line<T> | undefined): T | undefined {
  return line !== undefined && 'item' in line ? line.item : undefined
}

function targetOf(key: string, current: number, rowsInView: number, last: number): number | undefined {
  const targets: Record<string, number> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    PageDown: current + rowsInView,
    PageUp: current - rowsInView,
    Home: 0,
    End: last,
  }
  const target = targets[key]
  return target === undefined ? undefined : Math.min(last, Math.max(0, target))
}

/**
 * Whether another element handles this key. If nothing has the focus, as after the page was loaded, the list handles the key.
 */
function hasTaker({ target, key, defaultPrevented }: KeyboardEvent): boolean {
  if (defaultPrevented || document.querySelector('dialog[open], [popover]:popover-open') !== null) return true
  const { activeElement: active, body } = document
  // After a click in the menu, the clicked link has the focus. A link does not use the arrow keys, so the list handles them.
  const isLink = key !== 'Enter' && active?.closest('nav') != null
  return !(target === body || active === body || active?.id === 'content' || isLink)
}

/**
 * A list of any length. Only the visible rows are in the document.
 *
 * For assistive technology, the list is a grid with one active row. A listbox must not contain buttons, but the cells may.
 */
export function VirtualList<T>(props: ListProps<T>) {
  const { lines, rowHeight, selectedKey, onSelect, onNearEnd, onView } = props
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer(props, scroller)
  const drawn = virtualizer.getVirtualItems()

  const lastDrawn = drawn.at(-1)?.index ?? -1
  const scrollTop = virtualizer.scrollOffset ?? 0
  useLayoutEffect(() => {
    const bottom = scrollTop + (virtualizer.scrollRect?.height ?? 0)
    const visible = drawn.filter(({ start, end }) => end > scrollTop && start < bottom)
    onView({
      isAtTop: scrollTop < TOP,
      visible: visible.flatMap(({ index }) => itemOf(lines[index]) ?? []),
    })
    if (lastDrawn >= lines.length - 20) onNearEnd()
  }, [scrollTop, lastDrawn, lines])

  const selectedIndex = useSelectedInView(props, virtualizer, scroller)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const rows = lines.flatMap((line, index) => ('item' in line ? [index] : []))
    if (event.key === 'Enter' && (event.target === scroller.current || !hasTaker(event))) {
      event.preventDefault()
      // The rows are still those of the query before.
      if (props.isStale && !props.isOld) return
      const line = lines[selectedIndex] ?? lines[rows[0] ?? -1]
      if (line !== undefined) onSelect(line.key, true)
      return
    }
    const rowsInView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
    const target = targetOf(event.key, rows.indexOf(selectedIndex), rowsInView, rows.length - 1)
    const line = target === undefined ? undefined : lines[rows[target] ?? -1]
    if (line === undefined) {
      const selected = itemOf(lines[selectedIndex])
      return selected && props.onKey?.(event, selected)
    }
    event.preventDefault()
    onSelect(line.key, false)
  }

  // Not `useEffect`, which runs after the rows are shown: a key in between would be lost.
  useLayoutEffect(() => {
    const onFreeKey = (event: KeyboardEvent) => {
      if (hasTaker(event)) return
      onKeyDown(event)
      if (event.defaultPrevented) scroller.current?.focus({ preventScroll: true })
    }
    document.addEventListener('keydown', onFreeKey)
    return () => document.removeEventListener('keydown', onFreeKey)
  })

  return (
    <div
      class={`list${props.isOld ? ' stale' : ''}`}
      ref={scroller}
      role="grid"
      aria-label={props.label}
      aria-rowcount={lines.length}
      aria-busy={props.isStale}
      tabIndex={0}
      {...(selectedIndex < 0 ? {} : { 'aria-activedescendant': rowId(selectedKey ?? '') })}
      onKeyDown={onKeyDown}
    >
      {props.head}
      <div class="list-space" role="rowgroup" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {drawn.map((place) => (
          <Row key={place.key} place={place} line={lines[place.index] as Line<T>} list={props} />
        ))}
      </div>
    </div>
  )
}

function rowId(key: string): string {
  return `row-${key}`
}

function Row<T>({ place, line, list }: { place: VirtualItem; line: Line<T>; list: ListProps<T> }) {
  const { key } = line
  const common = {
    id: rowId(key),
    'aria-rowindex': place.index + 1,
    style: { height: `${place.size}px`, transform: `translateY(${place.start}px)` },
  }
  return 'item' in line ? (
    <div
      {...common}
      role="row"
      class={`row ${list.rowClass?.(line.item) ?? ''}`}
      aria-selected={key === list.selectedKey}
      onClick={() => list.onSelect(key, true)}
    >
      {list.cells(line.item)}
    </div>
  ) : (
    <div {...common} role="row" class="separator">
      <span role="gridcell">{line.day}</span>
    </div>
  )
}
