import { Button, say } from './basics.tsx'

/** Browsers have no clipboard API on pages over plain HTTP. */
function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'sr-only'
  // While a dialog is open, elements outside of the dialog cannot be focused.
  const place = document.querySelector('dialog[open]') ?? document.body
  const before = document.activeElement
  place.append(field)
  field.select()
  const isDone = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isDone
}

export async function copy(text: string, what: string): Promise<void> {
  let isDone = false
  try {
    await navigator.clipboard.writeText(text)
    isDone = true
  } catch {
    isDone = copyBySelection(text)
  }
  say(isDone ? `${what} copied` : `${what} could not be copied: the browser does not allow it here`)
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <Button class="quiet" onClick={() => copy(text, what)}>
      Copy
    </Button>
  )
}
