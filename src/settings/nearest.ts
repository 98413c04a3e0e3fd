/** A name further away than this is another word, not a slip of the finger. */
const MAX_DISTANCE = 3

/** A message about the first unknown name, which suggests the nearest known one. */
export function unknownOption(
  given: object,
  known: readonly string[],
): [name: string, problem: string] | undefined {
  const name = Object.keys(given).find((one) => !known.includes(one))
  if (name === undefined) return undefined
  const nearest = nearestName(name, known)
  return [
    name,
    nearest === undefined
      ? `unknown option; there are ${known.join(', ')}`
      : `unknown option; did you mean ${nearest}?`,
  ]
}

/** The known name that `name` was probably meant to be. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    // Half of a short name changed makes another word: `port` is not `host`.
    .filter(({ distance }) => distance <= MAX_DISTANCE && distance < name.length / 2)
    .sort((a, b) => a.distance - b.distance)
  return nearest?.one
}

/** Levenshtein distance, one row at a time. */
export function editDistance(from: string, to: string): number {
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
