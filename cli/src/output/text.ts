/** Control characters, and characters that change the direction of text. With them, a file could forge lines of the output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this finds them in order to replace them
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const short = [...text].length > 40 ? `${[...text].slice(0, 40).join('')}...` : text
  return printable(typeof value === 'string' ? JSON.stringify(short) : short)
}

/** Formats a count: `1,234 lines`, `1 line`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1_000).toFixed(1)} s`
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
