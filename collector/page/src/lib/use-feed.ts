import { useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Feed, type FeedName, type Item, type Question } from './feed.ts'
import { connection, isPaused, latest } from './live.ts'
import type { StreamMessage } from './types.ts'

export interface View<T> {
  isAtTop: boolean
  visible: readonly T[]
}

/** From this many events in a second, a list that shows each of them cannot be read or clicked. */
const BUSY = 25

/** So many in the current second are more than a screen has room for: what was drawn would be gone before it is read. */
const FLOOD = 100

/** Whether many events came in the last whole second, or a flood in this one. So the first second of a small burst is shown. */
function isBusy({ stats }: StreamMessage): boolean {
  const countOf = (at: number) => {
    const second = stats.perSecond.at(at)
    return second === undefined ? 0 : second.accepted + second.rejected + second.repeated
  }
  return countOf(-2) > BUSY || countOf(-1) > FLOOD
}

/** A value that changes when there may be new items in the list. */
const MARKS: { readonly [name in FeedName]: (message: StreamMessage) => string | number } = {
  events: ({ head }) => head,
  requests: ({ stats }) => stats.requests,
}

export interface LiveFeed<T extends Item> {
  feed: Feed<T>
  onView(view: View<T>): void
}

function isEngaged(): boolean {
  return document.querySelector('.list-frame:is(:hover, :focus-within)') !== null
}

/**
 * The list is updated from the event stream. It does not move while the user looks at older items, nor while the pointer or the
 * focus is in it: what is read would be gone before it is clicked. New items are then only counted.
 */
export function useFeed<T extends Item>(
  name: FeedName,
  question: Question,
  /** Whether an item may still change. */
  isUnsettled: (item: T) => boolean,
): LiveFeed<T> {
  const feed = useMemo(() => new Feed<T>(name), [name])
  const view = useRef<View<T>>({ isAtTop: true, visible: [] })
  const seen = useRef<{ epoch: number; mark: string | number; revision: string } | undefined>(undefined)
  const key = JSON.stringify(question)
  useEffect(() => void feed.ask(question), [feed, key])
  useEffect(() => () => feed.close(), [feed])
  useSignalEffect(() => {
    const message = latest.value
    const paused = isPaused.value
    if (message === undefined) return
    const before = seen.current
    const mark = MARKS[name](message)
    // Each process counts its revisions separately.
    const revision = `${message.process} ${message.revision}`
    seen.current = { epoch: message.epoch, mark, revision }
    if (before !== undefined && before.epoch !== message.epoch) return void feed.reload()
    const isHeld = paused || isEngaged() || !view.current.isAtTop || isBusy(message)
    if (before?.mark !== mark || (!isHeld && feed.waiting.peek() > 0)) void feed.follow(isHeld)
    const { visible } = view.current
    const isRevised = before !== undefined && before.revision !== revision
    if (isRevised && !paused && visible.some(isUnsettled)) void feed.refresh(visible)
  })
  useSignalEffect(() => {
    // Repeats a query that failed while the connection was lost or the store was unavailable.
    const status = feed.error.peek()?.status
    if (connection.value === 'live' && (status === 0 || status === 503)) void feed.reload()
  })
  return {
    feed,
    onView: (next) => {
      view.current = next
      const message = latest.peek()
      const isHeld = isPaused.peek() || isEngaged() || (message !== undefined && isBusy(message))
      if (next.isAtTop && !isHeld && feed.waiting.peek() > 0) void feed.follow(false)
    },
  }
}
