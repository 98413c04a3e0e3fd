import { describe as describeType } from '../message/describe.ts'
import { type Difference, differences, isAsymmetric, isOpaque, type Matches } from './differences.ts'

/** These limits keep the report readable. */
const MAX_MESSAGES = 3
const MAX_DIFFERENCES = 5
const MAX_TEXT = 120

interface Candidate {
  readonly message: object
  readonly differences: readonly Difference[]
  readonly distance: number
}

interface Options {
  readonly matches?: Matches | undefined
  readonly fate?: 'sent' | 'failed'
}

export function reportNearest(
  headline: string,
  expected: unknown,
  messages: readonly object[],
  { matches, fate = 'sent' }: Options = {},
): string {
  const nearest = nearestTo(expected, messages, matches)
  const lines = [headline, '']
  if (typeof expected !== 'function') lines.push(`expected: ${show(expected)}`, '')
  if (messages.length === 0)
    return [...lines, fate === 'sent' ? 'nothing was sent at all' : 'nothing has failed'].join('\n')
  const isAll = nearest.length === messages.length
  lines.push(isAll ? `${fate}:` : `${fate}: ${messages.length} messages; the nearest:`)
  for (const { message, differences } of nearest) {
    lines.push(`  ${describe(message)}`)
    for (const { path, expected, actual } of differences.slice(0, MAX_DIFFERENCES)) {
      lines.push(
        `    ${path === '' ? 'it' : path}: expected ${expected === undefined ? 'undefined' : show(expected)}, got ${show(actual)}`,
      )
    }
    const left = differences.length - MAX_DIFFERENCES
    if (left > 0) lines.push(`    and ${left} more`)
  }
  return lines.join('\n')
}

function nearestTo(
  expected: unknown,
  messages: readonly object[],
  matches: Matches | undefined,
): Candidate[] {
  const candidates = messages.map((message): Candidate => {
    const all = typeof expected === 'function' ? [] : differences(expected, message, matches)
    // If the kind differs, other differences are not shown.
    const type = all.find(({ path }) => path === 'type')
    const found = type === undefined ? all : [type]
    return { message, differences: found, distance: distanceOf(found) }
  })
  // Of two equally similar messages, the later one comes first, because it is more likely to belong to this test.
  candidates.reverse()
  return candidates.sort((one, other) => one.distance - other.distance).slice(0, MAX_MESSAGES)
}

function distanceOf(found: readonly Difference[]): number {
  let distance = 0
  for (const { path, expected, actual } of found) {
    if (path === 'type') distance += 10_000
    else if (path === 'event') distance += 1_000 + 100 * unlikeness(String(expected), String(actual))
    else distance += 1
  }
  return distance
}

/** 0 for names that are equal except for upper and lower case, 1 for names without a common pair of adjacent letters. */
function unlikeness(name: string, other: string): number {
  const [pairs, others] = [pairsOf(name), pairsOf(other)]
  if (pairs.length + others.length === 0) return 1
  const shared = pairs.filter((pair) => others.includes(pair)).length
  return 1 - Math.min(1, (2 * shared) / (pairs.length + others.length))
}

function pairsOf(name: string): string[] {
  const letters = name.toLowerCase()
  return Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2))
}

export function describe(message: object): string {
  const { type, event, name, groupId, code, previousId, userId, anonymousId, properties, traits } =
    message as Record<string, unknown>
  const title = [type, event ?? name ?? groupId].filter((part) => part !== undefined).join(' ')
  const details = Object.entries({ code, previousId, userId, anonymousId, properties, traits }).filter(
    ([, value]) => value !== undefined,
  )
  return `${title} ${show(Object.fromEntries(details))}`
}

export function show(value: unknown): string {
  const text = textOf(value)
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 3)}...`
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (isAsymmetric(value)) {
    const { toAsymmetricMatcher } = value as { toAsymmetricMatcher?: unknown }
    return String(typeof toAsymmetricMatcher === 'function' ? toAsymmetricMatcher.call(value) : value)
  }
  if (typeof value === 'bigint' || typeof value === 'number') return String(value)
  // The arguments of a call may be expected, but messages are parsed JSON.
  if (isOpaque(value)) return describeType(value)
  // The replacer gets the result of toJSON, but `this` has the value itself.
  function replace(this: Record<string, unknown>, name: string, part: unknown): unknown {
    const original = this[name]
    const isShown = original === value || !(isAsymmetric(original) || isOpaque(original))
    if (isShown && typeof part !== 'bigint' && !Number.isNaN(part)) return part
    return textOf(original)
  }
  try {
    return JSON.stringify(value, replace) ?? String(value)
  } catch {
    return String(value)
  }
}
