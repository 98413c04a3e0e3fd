import { type ReadonlySignal, signal } from '@preact/signals'

/** Whether a media query holds, kept current. */
export function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query)
  const value = signal(list.matches)
  list.addEventListener('change', () => {
    value.value = list.matches
  })
  return value
}

/** Too narrow for two panes: what is opened lies over the list, so that no column of it is cut off. */
export const isNarrow = media('(max-width: 999px)')
