import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button, Icon } from './basics.tsx'

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

export function Confirm({
  title,
  action,
  isDangerous = false,
  onConfirm,
  onClose,
  children,
}: {
  title: string
  action: string
  isDangerous?: boolean
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
          class={isDangerous ? 'danger' : 'primary'}
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

export function PanelHead({
  title,
  onClose,
  children,
}: {
  title: ComponentChildren
  /** Left out for a panel that stays open. */
  onClose?(): void
  children?: ComponentChildren
}) {
  return (
    <header class="panel-head">
      <h2>{title}</h2>
      {children}
      {onClose !== undefined && (
        <Button class="quiet" aria-label="Close" title="Close (Esc)" onClick={onClose}>
          <Icon name="close" />
        </Button>
      )}
    </header>
  )
}
