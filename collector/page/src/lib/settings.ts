import { effect, signal } from '@preact/signals'

/** While paused, nothing on the screen moves, and new items are counted. */
export const isPaused = signal(false)

/** The colours: those of the system, or chosen by the user. */
export type Theme = 'auto' | 'light' | 'dark'

/** A search that was given a name. */
export interface SavedFilter {
  name: string
  query: string
}

// A page from a file, or in a locked-down browser, may have no storage: then settings last as long as the tab.
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
      // See above.
    }
  })
  return value
}

export const theme = kept<Theme>('trackpost-theme', 'auto')
export const savedFilters = kept<SavedFilter[]>('trackpost-filters', [])

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'auto' ? '' : theme.value
})
