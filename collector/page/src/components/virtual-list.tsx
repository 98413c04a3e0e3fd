import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'

/** The rows have known heights and stable keys. */
interface ListProps<T> {
  label: string
  items: readonly T[]
  keyOf(item: T): string
  heightOf(item: T): number
  render(item: T): ComponentChildren
  /** Separators cannot be selected. */
  isRow(item: T): boolean
  rowClass?(item: T): string
  selectedKey: string | undefined
  /** `isOpened` is true after a click or Enter, and false if the user has only moved to the row. */
  onSelect(item: T, isOpened: boolean): void
  onKey?(event: KeyboardEvent, item: T | undefined): void
  onNearEnd(): void
  onView(isAtTop: boolean, visible: readonly T[]): void
  /** Stays above the rows while they scroll. `headHeight` is its height in pixels. */
  head?: ComponentChildren
  headHeight: number
  /** The items belong to an earlier query. */
  isStale?: boolean
  /** The items could not be replaced by those of the current query, and are shown in grey. */
  isOld?: boolean
}

function useVirtualizer<T>(
  items: readonly T[],
  props: ListProps<T>,
  scroller: { current: HTMLDivElement | null },
) {
  const [, redraw] = useReducer<number, void>((round) => round + 1, 0)
  const options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index: number) => props.heightOf(items[index] as T),
    getItemKey: (index: number) => props.keyOf(items[index] as T),
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
/** Space in pixels above a selected row, so that the name of the day stays visible. */
const DAY = 40

/**
 * Scrolls to the selected row when its height changes and when another row is selected. A row can be selected in the list, by
 * the address, and by a link in the details of an event.
 */
function useSelectedInView<T>(
  { items, keyOf, heightOf, selectedKey, headHeight }: ListProps<T>,
  virtualizer: Virtualizer<HTMLDivElement, HTMLDivElement>,
  scroller: { current: HTMLDivElement | null },
): number {
  const shown = useRef('')
  const index = items.findIndex((item) => keyOf(item) === selectedKey)
  const height = index < 0 ? 0 : heightOf(items[index] as T)
  useLayoutEffect(() => {
    const box = scroller.current
    const start = virtualizer.measurementsCache[index]?.start
    if (index < 0) shown.current = ''
    const wanted = `${height} ${selectedKey}`
    if (box === null || start === undefined || shown.current === wanted) return
    shown.current = wanted
    const highest = start + height + headHeight - box.clientHeight
    const lowest = start - DAY
    if (box.scrollTop > lowest) box.scrollTop = lowest
    else if (box.scrollTop < highest) box.scrollTop = highest
  })
  return index
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
  const { items, isRow, selectedKey, onSelect, onNearEnd, onView } = props
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer(items, props, scroller)
  const drawn = virtualizer.getVirtualItems()

  const lastDrawn = drawn.at(-1)?.index ?? -1
  const scrollTop = virtualizer.scrollOffset ?? 0
  useLayoutEffect(() => {
    const bottom = scrollTop + (virtualizer.scrollRect?.height ?? 0)
    const visible = drawn.filter(({ start, end }) => end > scrollTop && start < bottom)
    onView(
      scrollTop < TOP,
      visible.flatMap(({ index }) => items[index] ?? []),
    )
    if (lastDrawn >= items.length - 20) onNearEnd()
  }, [scrollTop, lastDrawn, items])

  const selectedIndex = useSelectedInView(props, virtualizer, scroller)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const rows = items.flatMap((item, index) => (isRow(item) ? [index] : []))
    const selected = items[selectedIndex]
    if (event.key === 'Enter' && (event.target === scroller.current || !hasTaker(event))) {
      event.preventDefault()
      // The rows are still those of the query before.
      if (props.isStale === true && props.isOld !== true) return
      const item = selected ?? items[rows[0] ?? -1]
      if (item !== undefined) onSelect(item, true)
      return
    }
    const height = props.heightOf(items[rows[0] ?? 0] as T)
    const rowsInView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / height) - 1)
    const target = targetOf(event.key, rows.indexOf(selectedIndex), rowsInView, rows.length - 1)
    const index = target === undefined ? undefined : rows[target]
    const item = index === undefined ? undefined : items[index]
    if (index === undefined || item === undefined) return props.onKey?.(event, selected)
    event.preventDefault()
    onSelect(item, false)
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
      class={`list${props.isOld === true ? ' stale' : ''}`}
      ref={scroller}
      role="grid"
      aria-label={props.label}
      aria-rowcount={items.length}
      aria-busy={props.isStale === true}
      tabIndex={0}
      {...(selectedIndex < 0 ? {} : { 'aria-activedescendant': rowId(selectedKey ?? '') })}
      onKeyDown={onKeyDown}
    >
      {props.head}
      <div class="list-space" role="rowgroup" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {drawn.map((place) => (
          <Row key={place.key} place={place} item={items[place.index] as T} list={props} />
        ))}
      </div>
    </div>
  )
}

function rowId(key: string): string {
  return `row-${key}`
}

function Row<T>({ place, item, list }: { place: VirtualItem; item: T; list: ListProps<T> }) {
  const key = list.keyOf(item)
  const isRow = list.isRow(item)
  return (
    <div
      id={rowId(key)}
      class={isRow ? `row ${list.rowClass?.(item) ?? ''}` : 'separator'}
      role="row"
      aria-rowindex={place.index + 1}
      {...(isRow ? { 'aria-selected': key === list.selectedKey } : {})}
      style={{ height: `${place.size}px`, transform: `translateY(${place.start}px)` }}
      onClick={isRow ? () => list.onSelect(item, true) : undefined}
    >
      {list.render(item)}
    </div>
  )
}
