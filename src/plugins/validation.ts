import { isThenable } from '../errors/guard.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { StandardSchema } from './standard-schema.ts'
import { readIssues, type Violation } from './violations.ts'

export type Verdict =
  | { readonly state: 'valid'; readonly properties: Record<string, unknown> | undefined }
  | { readonly state: 'invalid'; readonly violations: readonly Violation[] }
  /** The schema threw, took too long or returned an invalid result, so the properties could not be checked. */
  | { readonly state: 'failed'; readonly cause: unknown }

/** Less than the 5 s that a plugin has, so that the tracking plan and not the pipeline decides about the event. */
const SCHEMA_TIMEOUT_MS = 4_000

/** Returns a promise only if the schema does. Never throws or rejects. */
export function validate(schema: StandardSchema, properties: unknown): Verdict | Promise<Verdict> {
  const first = ask(schema, properties)
  if (!(first instanceof Promise)) return askAgain(schema, properties, first)
  return withinLimit(first.then((verdict) => askAgain(schema, properties, verdict)))
}

/** Empty properties that are not valid are checked as `undefined` too, because the call may have had no properties. */
function askAgain(schema: StandardSchema, properties: unknown, first: Verdict): Verdict | Promise<Verdict> {
  if (first.state !== 'invalid' || !isEmpty(properties)) return first
  const second = ask(schema, undefined)
  const choose = (verdict: Verdict): Verdict => (verdict.state === 'valid' ? verdict : first)
  return second instanceof Promise ? withinLimit(second.then(choose)) : choose(second)
}

function ask(schema: StandardSchema, value: unknown): Verdict | Promise<Verdict> {
  try {
    const result: unknown = schema['~standard'].validate(value)
    if (!isThenable(result)) return read(result)
    return Promise.resolve(result).then(read, failed)
  } catch (cause) {
    return failed(cause)
  }
}

function read(result: unknown): Verdict {
  try {
    if (typeof result !== 'object' || result === null) throw nonsense('a result', describe(result))
    const { issues, value } = result as { issues?: unknown; value?: unknown }
    if (issues !== undefined && issues !== null) {
      if (!Array.isArray(issues)) throw nonsense('a list of issues', describe(issues))
      return { state: 'invalid', violations: readIssues(issues) }
    }
    if (!('value' in result)) throw nonsense('a value or issues', 'neither')
    if (value !== undefined && !isRecord(value)) throw nonsense('properties', describe(value))
    return { state: 'valid', properties: value }
  } catch (cause) {
    return failed(cause)
  }
}

function failed(cause: unknown): Verdict {
  return { state: 'failed', cause }
}

function nonsense(expected: string, got: string): TypeError {
  return new TypeError(`expected ${expected} from the schema, got ${got}`)
}

function isEmpty(properties: unknown): boolean {
  return typeof properties === 'object' && properties !== null && Object.keys(properties).length === 0
}

function withinLimit(work: Promise<Verdict>): Promise<Verdict> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(failed(new Error(`the schema did not settle within ${SCHEMA_TIMEOUT_MS} ms`)))
    }, SCHEMA_TIMEOUT_MS)
    ;(timer as { unref?: () => void }).unref?.()
    void work.then((verdict) => {
      clearTimeout(timer)
      resolve(verdict)
    })
  })
}
