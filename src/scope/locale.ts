/** No real header is longer. */
const MAX_LENGTH = 1_000

/** Reads the preferred language from `Accept-Language`. @see RFC 9110, section 12.5.4 */
export function readLocale(header: string | undefined): string | undefined {
  let best: string | undefined
  let bestWeight = 0
  for (const range of (header ?? '').slice(0, MAX_LENGTH).split(',')) {
    const [, tag, weight = '1'] =
      /^\s*([a-z]{1,8}(?:-[a-z\d]{1,8})*)\s*(?:;\s*q=(\d(?:\.\d{0,3})?)\s*)?$/i.exec(range) ?? []
    if (tag === undefined || !(Number(weight) > bestWeight)) continue
    best = tag
    bestWeight = Number(weight)
  }
  return best
}
