import { describe } from '../message/describe.ts'

/** One way in which an event does not follow the tracking plan. */
export interface Violation {
  /** The path in the properties, such as `items.0.price`. Empty for the properties as a whole. */
  readonly path: string
  /** The message of the schema, which may quote the value. At most 200 characters. */
  readonly message: string
}

// Limits for the issues that a schema reports, because their text becomes part of error messages and events.
const MAX_VIOLATIONS = 20
const MAX_TEXT = 200

/**
 * Why an event does not follow its plan. `warning` listeners get this error as `reason.cause`, `error` listeners as
 * `reason.cause.cause`.
 */
export class PlanViolationError extends Error {
  /** Always `PlanViolationError`. */
  override readonly name = 'PlanViolationError'
  /** The name of the event. */
  readonly event: string
  /**
   * The first 20 violations; if there are more, another entry tells how many. Empty when the event is not in the plan, when the
   * schema itself failed, or when the schema gives no reason.
   */
  readonly violations: readonly Violation[]

  /** Called by a tracking plan only. */
  constructor(event: string, message: string, violations: readonly Violation[], cause?: unknown) {
    super(`'${shorten(event)}' ${message}`, cause === undefined ? undefined : { cause })
    this.event = event
    this.violations = violations
  }
}

/**
 * Reads the violations of an event from the `reason` that a `warning` or `error` listener gets.
 *
 * @returns The violations; empty when the reason does not come from a tracking plan.
 */
export function violationsOf(reason: unknown): readonly Violation[] {
  let link = reason
  for (let depth = 0; depth < 5 && link instanceof Error; depth++) {
    // Compares the name, because another copy of this package has another class.
    if (link.name === 'PlanViolationError') return (link as PlanViolationError).violations
    link = link.cause
  }
  return []
}

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

export function listViolations(violations: readonly Violation[]): string {
  if (violations.length === 0) return 'its schema does not say why'
  return violations.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
}

function pathOf(path: unknown): string {
  if (!Array.isArray(path)) return ''
  return shorten(path.map(keyOf).join('.'))
}

function keyOf(segment: unknown): string {
  const key = typeof segment === 'object' && segment !== null ? (segment as { key?: unknown }).key : segment
  return ['string', 'number', 'symbol'].includes(typeof key) ? String(key) : `(${describe(key)})`
}

function shorten(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 3)}...`
}
