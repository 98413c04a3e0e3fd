import { useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Feed, Question } from './feed.ts'
import { connection, latest } from './live.ts'
import { isPaused } from './settings.ts'
import type { PageOf, StreamMessage } from './types.ts'

type Item = { id: string; seq?: number }

/** The rows in sight, told by the list. */
export interface View<T> {
  isAtTop: boolean
  visible: readonly T[]
}

interface FeedHooks<T extends Item> {
  /** Changes when there may be something new in the list. */
  markOf(message: StreamMessage): string | number
  /** Whether an item may have changed since. */
  isUnsettled(item: T): boolean
}

/** A feed that asks what it is given, follows the stream, and stands still while the reader looks at older items. */
export function useFeed<T extends Item, P extends PageOf>(
  create: () => Feed<T, P>,
  question: Question,
  hooks: FeedHooks<T>,
): { feed: Feed<T, P>; onView(view: View<T>): void } {
  // One for the life of the screen.
  const feed = useMemo(create, [])
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
    const mark = hooks.markOf(message)
    // Each process counts its own.
    const revision = `${message.process} ${message.revision}`
    seen.current = { epoch: message.epoch, mark, revision }
    if (before !== undefined && before.epoch !== message.epoch) return void feed.reload()
    const isHeld = paused || !view.current.isAtTop
    if (before?.mark !== mark || (!isHeld && feed.waiting.peek() > 0)) void feed.follow(isHeld)
    const { visible } = view.current
    const isRevised = before !== undefined && before.revision !== revision
    if (isRevised && !paused && visible.some(hooks.isUnsettled)) void feed.refresh(visible)
  })
  useSignalEffect(() => {
    // Questions that failed while there was no connection, or no store, are asked again.
    const status = feed.error.peek()?.status
    if (connection.value === 'live' && (status === 0 || status === 503)) void feed.reload()
  })
  return {
    feed,
    onView: (next) => {
      view.current = next
      if (next.isAtTop && !isPaused.peek() && feed.waiting.peek() > 0) void feed.follow(false)
    },
  }
}
