import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isNarrow } from '../lib/media.ts'
import type { Query } from '../lib/use-query.ts'
import { QueryState } from './basics.tsx'
import { Dialog, PanelHead } from './dialog.tsx'

/** Beside the list if there is room, otherwise over the list. */
function SidePanel({
  label,
  onClose,
  children,
}: {
  label: string
  onClose(): void
  children: ComponentChildren
}) {
  // Not `useEffect`, which runs after the panel is shown: an Escape in between would be lost.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isElsewhere = document.querySelector('dialog[open], [popover]:popover-open') !== null
      if (event.key === 'Escape' && !event.defaultPrevented && !isElsewhere) onClose()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [onClose])
  const panel = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const opener = document.activeElement
    return () => {
      const hasFocus = panel.current?.contains(document.activeElement) === true
      if (hasFocus && opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  if (isNarrow.value) {
    return (
      <Dialog label={label} class="drawer" onClose={onClose}>
        {children}
      </Dialog>
    )
  }
  return (
    <aside class="panel" aria-label={label} ref={panel}>
      {children}
    </aside>
  )
}

interface PanelProps {
  label: string
  title: ComponentChildren
  query: Query<unknown>
  /** Whether the item itself is not there yet. */
  isEmpty: boolean
  onClose(): void
  /** False for a panel that stays open. */
  canClose?: boolean
  /** Beside the title. */
  actions?: ComponentChildren
  class?: string
  children: ComponentChildren
}

/** The details of one item. */
export function Panel({ label, title, query, isEmpty, onClose, canClose = true, ...rest }: PanelProps) {
  return (
    <SidePanel label={label} onClose={onClose}>
      <PanelHead title={title} {...(canClose ? { onClose } : {})}>
        {rest.actions}
      </PanelHead>
      <QueryState query={query} isEmpty={isEmpty} />
      {!isEmpty && <div class={`panel-body ${rest.class ?? ''}`}>{rest.children}</div>}
    </SidePanel>
  )
}
