import { say } from './basics.tsx'

/** Copies by way of a text field, for pages that came over plain HTTP and have no clipboard of their own. */
function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'off-screen'
  // Inside an open dialog everything else is inert.
  const place = document.querySelector('dialog[open]') ?? document.body
  const before = document.activeElement
  place.append(field)
  field.select()
  const isDone = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isDone
}

/** Puts a text on the clipboard and says so, or says that it could not be done. */
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
