import { type ReadonlySignal, signal } from '@preact/signals'

/** Whether a media query matches, kept up to date. */
export function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query)
  const value = signal(list.matches)
  list.addEventListener('change', () => {
    value.value = list.matches
  })
  return value
}

/** Too narrow for two panes: details are shown over the list, so that none of its columns is cut off. */
export const isNarrow = media('(max-width: 999px)')
