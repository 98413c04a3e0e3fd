const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
/** A fast check, for each request, which ids do not pass: a number of at most 15 characters has no more digits than a double holds. */
const MAY_BE_ROUNDED = /(?:^|[:,[])\s*-?(?:[\d.]{16}|[\d.]+[eE]\+?\d{3})/

/** Takes the place of a rounded number, and occurs in no text that a client sends by chance. */
const MARK = '\u0001rounded number'

/**
 * Which of the items of a JSON text have a number that JavaScript does not hold exactly: it has more digits than a double, or is
 * beyond its range.
 *
 * @param text A valid JSON text.
 * @param itemsOf Returns the items in the parsed text.
 * @returns Undefined if there is no such number.
 */
export function roundedItems(
  text: string,
  itemsOf: (value: unknown) => readonly unknown[],
): { isAround: boolean; items: ReadonlySet<number> } | undefined {
  if (!MAY_BE_ROUNDED.test(text)) return undefined
  let count = 0
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"') || !isRounded(token)) return token
    count++
    return JSON.stringify(MARK)
  })
  if (count === 0) return undefined
  const items = new Set<number>()
  let inItems = 0
  for (const [index, item] of itemsOf(JSON.parse(marked)).entries()) {
    const marks = JSON.stringify(item).split(JSON.stringify(MARK)).length - 1
    if (marks > 0) items.add(index)
    inItems += marks
  }
  return { isAround: inItems < count, items }
}

function isRounded(token: string): boolean {
  const number = Number(token)
  if (!Number.isFinite(number)) return !Number.isNaN(number)
  return number !== 0 && digitsOf(String(number)) !== digitsOf(token)
}

/** The digits without the zeros at both ends: `-0.0150e3` has `15`. */
function digitsOf(number: string): string {
  return number
    .replace(/[eE].*/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
}
