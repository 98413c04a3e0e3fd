import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './basics.tsx'

interface DialogProps {
  label: string
  class?: string
  onClose(): void
  children: ComponentChildren
}

export function Dialog({ label, class: className = 'dialog', onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const node = dialog.current
    const before = document.activeElement
    node?.showModal()
    // The browser focuses the first button. If that button is at the end of a long text, the browser scrolls to the end.
    node?.scrollTo(0, 0)
    return () => {
      node?.close()
      // The browser itself returns the focus only if the dialog is still in the document.
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
    >
      {children}
    </dialog>
  )
}

/** The question before something that cannot be undone. */
export function Confirm({
  title,
  action,
  onConfirm,
  onClose,
  children,
}: {
  title: string
  action: string
  onConfirm(): void
  onClose(): void
  children: ComponentChildren
}) {
  return (
    <Dialog label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
      <p class="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          class="danger"
          onClick={() => {
            onClose()
            onConfirm()
          }}
        >
          {action}
        </Button>
      </p>
    </Dialog>
  )
}
