/** Only a terminal has `isTTY` and `columns`. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }

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

/** Formats counts as `invalid 3, too_large 1`, the most frequent reason first. */
export function byReason(reasons: ReadonlyMap<string, number>): string {
  return [...reasons]
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${reason} ${count.toLocaleString('en-US')}`)
    .join(', ')
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

/** Returns the name that the user probably meant; `undefined` if none is similar. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.min(4, Math.ceil(name.length / 2) + 1)
  for (const candidate of names) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[to.length] as number
}
