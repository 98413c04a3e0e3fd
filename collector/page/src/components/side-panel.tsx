import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { isNarrow } from '../lib/media.ts'
import { Dialog } from './dialog.tsx'

/** Shows the details of a row: beside the list if there is room, otherwise over the list. */
export function SidePanel({
  label,
  onClose,
  children,
}: {
  label: string
  onClose(): void
  children: ComponentChildren
}) {
  useEffect(() => {
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
