import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isNarrow } from '../lib/media.ts'
import { goBack, hrefWith } from '../lib/router.ts'
import type { Query } from '../lib/use-query.ts'
import { Button, Icon, QueryState } from './basics.tsx'
import { Dialog } from './dialog.tsx'

interface PanelProps<T> {
  /** For example `Event`; also the title until the item is there. */
  label: string
  query: Query<unknown>
  item: T | undefined
  title(item: T): ComponentChildren
  /** False for a panel that stays open. */
  canClose?: boolean
  /** Beside the title. */
  actions?: ComponentChildren
  class?: string
  children(item: T): ComponentChildren
}

const close = () => goBack(hrefWith({ open: undefined, with: undefined, id: undefined, key: undefined }))

/** The details of one item of the address: beside the list if there is room, otherwise over the list. */
export function Panel<T>({ label, query, item, canClose = true, ...rest }: PanelProps<T>) {
  // Not `useEffect`, which runs after the panel is shown: an Escape in between would be lost.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isElsewhere = document.querySelector('dialog[open], [popover]:popover-open') !== null
      if (event.key === 'Escape' && canClose && !event.defaultPrevented && !isElsewhere) close()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [canClose])
  const panel = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const opener = document.activeElement
    return () => {
      const hasFocus = panel.current?.contains(document.activeElement) === true
      if (hasFocus && opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  const content = (
    <>
      <header class="panel-head">
        <h2>{item === undefined ? label : rest.title(item)}</h2>
        {rest.actions}
        {canClose && (
          <Button class="quiet" aria-label="Close" title="Close (Esc)" onClick={close}>
            <Icon name="close" />
          </Button>
        )}
      </header>
      <QueryState query={query} isEmpty={item === undefined} />
      {item !== undefined && <div class={`panel-body ${rest.class ?? ''}`}>{rest.children(item)}</div>}
    </>
  )
  return isNarrow.value ? (
    <Dialog label={label} class="drawer" onClose={close}>
      {content}
    </Dialog>
  ) : (
    <aside class="panel" aria-label={label} ref={panel}>
      {content}
    </aside>
  )
}
