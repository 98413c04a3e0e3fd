import { type ReadonlySignal, signal } from '@preact/signals'

function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query)
  const value = signal(list.matches)
  list.addEventListener('change', () => {
    value.value = list.matches
  })
  return value
}

/** Whether the window is too narrow for a list and details side by side. The details are then shown over the list. */
export const isNarrow = media('(max-width: 999px)')
