import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isThenable } from '../errors/guard.ts'
import { describe, isRecord } from '../message/describe.ts'
import { readIssues, type Violation } from './violations.ts'

export type Verdict =
  | { readonly state: 'valid'; readonly properties: Record<string, unknown> | undefined }
  | { readonly state: 'invalid'; readonly violations: readonly Violation[] }
  /** The schema threw or returned an invalid result. */
  | { readonly state: 'failed'; readonly cause: unknown }

/** Returns a promise only if the schema does. Never throws or rejects. */
export function validate(schema: StandardSchemaV1, properties: unknown): Verdict | Promise<Verdict> {
  const first = ask(schema, properties)
  if (!(first instanceof Promise)) return askAgain(schema, properties, first)
  return first.then((verdict) => askAgain(schema, properties, verdict))
}

/** Empty properties that are not valid are checked as `undefined` too, because the call may have had no properties. */
function askAgain(schema: StandardSchemaV1, properties: unknown, first: Verdict): Verdict | Promise<Verdict> {
  if (first.state !== 'invalid' || Object.keys(properties ?? {}).length > 0) return first
  const second = ask(schema, undefined)
  const choose = (verdict: Verdict): Verdict => (verdict.state === 'valid' ? verdict : first)
  return second instanceof Promise ? second.then(choose) : choose(second)
}

function ask(schema: StandardSchemaV1, value: unknown): Verdict | Promise<Verdict> {
  try {
    const result = schema['~standard'].validate(value)
    return isThenable(result) ? Promise.resolve(result).then(read).catch(failed) : read(result)
  } catch (cause) {
    return failed(cause)
  }
}

function read({ issues, value }: { issues?: unknown; value?: unknown }): Verdict {
  if (issues) return { state: 'invalid', violations: readIssues(issues as unknown[]) }
  if (value === undefined || isRecord(value)) return { state: 'valid', properties: value }
  throw new TypeError(`expected properties from the schema, got ${describe(value)}`)
}

function failed(cause: unknown): Verdict {
  return { state: 'failed', cause }
}
