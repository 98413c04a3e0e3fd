import { describe } from '../message/describe.ts'

/** One thing about an event that the tracking plan does not allow. */
export interface Violation {
  /** The path inside the properties, such as `items.0.price`. Empty: the properties as a whole. */
  readonly path: string
  /** The problem, in the words of the schema. It may quote the value. At most 200 characters. */
  readonly message: string
}

// The text of a schema goes into messages and events, and must not make them too large.
const MAX_VIOLATIONS = 20
const MAX_KEYS = 32
const MAX_TEXT = 200

/** Why an event does not follow its plan. The `cause` of the reason that `warning` and `error` listeners get. */
export class PlanViolationError extends Error {
  /** `PlanViolationError`. */
  override readonly name = 'PlanViolationError'
  /** The name of the event. */
  readonly event: string
  /** The first 20 problems, and how many more there are; empty when the event is not in the plan, or its schema failed. */
  readonly violations: readonly Violation[]

  /** Made by a tracking plan. */
  constructor(event: string, message: string, violations: readonly Violation[], cause?: unknown) {
    super(`'${shorten(event)}' ${message}`, cause === undefined ? undefined : { cause })
    this.event = event
    this.violations = violations
  }
}

/**
 * The violations of an event, from the `reason` that a `warning` or `error` listener is given.
 *
 * @returns The violations; none when the reason does not come from a tracking plan.
 * @example
 * analytics.on('warning', ({ reason }) => {
 *   for (const { path, message } of violationsOf(reason)) console.warn(path, message)
 * })
 */
export function violationsOf(reason: unknown): readonly Violation[] {
  let link = reason
  try {
    for (let depth = 0; depth < 5 && typeof link === 'object' && link !== null; depth++) {
      const { name, violations, cause } = link as { name?: unknown; violations?: unknown; cause?: unknown }
      // Compares the name, since another copy of this package has another class.
      if (name === 'PlanViolationError' && Array.isArray(violations)) return violations
      link = cause
    }
  } catch {
    // Reading it throws, so it is not one of our errors.
  }
  return []
}

/** The issues of a schema as violations, as far as they can be read. Throws if reading them throws. */
export function readIssues(issues: readonly unknown[]): Violation[] {
  const violations = issues.slice(0, MAX_VIOLATIONS).map((issue) => {
    const { message, path } = (issue ?? {}) as { message?: unknown; path?: unknown }
    const text = typeof message === 'string' && message !== '' ? message : 'does not follow its schema'
    return { path: pathOf(path), message: shorten(text) }
  })
  const left = issues.length - violations.length
  if (left > 0) violations.push({ path: '', message: `and ${left} more` })
  return violations
}

/** The violations in one line. */
export function listViolations(violations: readonly Violation[]): string {
  if (violations.length === 0) return 'its schema does not say why'
  return violations.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
}

function pathOf(path: unknown): string {
  if (!Array.isArray(path)) return ''
  return shorten(path.slice(0, MAX_KEYS).map(keyOf).join('.'))
}

/** A segment is a key, or an object that has one. */
function keyOf(segment: unknown): string {
  const key = typeof segment === 'object' && segment !== null ? (segment as { key?: unknown }).key : segment
  return ['string', 'number', 'symbol'].includes(typeof key) ? String(key) : `(${describe(key)})`
}

function shorten(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 3)}...`
}
