import { effect, signal } from '@preact/signals'

/** While this is true, nothing on the screen moves, and new items are only counted. */
export const isPaused = signal(false)

/** The colours: `auto` follows the operating system. */
export type Theme = 'auto' | 'light' | 'dark'

// The browser may refuse access to the storage, for example for a page from a file. Settings then last as long as the tab.
function read<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(key)
    return text === null ? otherwise : (JSON.parse(text) as T)
  } catch {
    return otherwise
  }
}

function kept<T>(key: string, otherwise: T) {
  const value = signal(read(key, otherwise))
  effect(() => {
    const text = JSON.stringify(value.value)
    try {
      localStorage.setItem(key, text)
    } catch {
      // The storage cannot be used: see `read`.
    }
  })
  return value
}

export const theme = kept<Theme>('trackpost-theme', 'auto')
/** The time of an event that the list shows. */
export const shownTime = kept<'received' | 'happened'>('trackpost-time', 'received')

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'auto' ? '' : theme.value
})
