import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { isNarrow } from '../lib/media.ts'
import { Dialog } from './dialog.tsx'

/** Beside the list if there is room, otherwise over the list. */
export function SidePanel({
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
  if (isNarrow.value) {
    return (
      <Dialog label={label} class="drawer" onClose={onClose}>
        {children}
      </Dialog>
    )
  }
  return (
    <aside class="panel" aria-label={label}>
      {children}
    </aside>
  )
}
