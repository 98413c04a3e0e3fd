import type { MessageDefaults } from '../message/build.ts'
import { toIsoTime } from '../message/build.ts'
import { describe, isRecord } from '../message/describe.ts'
import { mergeDeep } from '../message/merge.ts'
import type { Scope } from '../message/scope.ts'
import type { Warnings } from './warnings.ts'

type Fields = Record<string, unknown>

/** Values of `over` win. `properties`, `context` and `integrations` are merged at every level, into a copy. */
export function mergeScopes(base: MessageDefaults | undefined, over: Scope | undefined): MessageDefaults {
  return {
    userId: over?.userId ?? base?.userId,
    anonymousId: over?.anonymousId ?? base?.anonymousId,
    timestamp: over?.timestamp ?? base?.timestamp,
    properties: merge(base?.properties, over?.properties),
    context: merge(base?.context, over?.context),
    integrations: merge(base?.integrations, over?.integrations),
  }
}

/** Marks scopes that never change. The symbol is global, because several copies of this module may be loaded. */
const CONSTANT = Symbol.for('trackpost.constantScope')

/** Marks a merged scope, which the `scope` setting may return for many calls, so that it is validated only once. */
export function makeConstant(scope: MessageDefaults): Scope {
  Object.defineProperty(scope, CONSTANT, { value: true })
  return Object.freeze(scope) as Scope
}

/**
 * If the user's function throws or returns a bad value, this is reported and the scope is ignored: no event may be lost because
 * of its scope.
 */
export function scopeReader(
  scope: (() => Scope | undefined) | undefined,
  warnings: Pick<Warnings, 'report' | 'reportMisuse'>,
): () => Scope | undefined {
  let isAsking = false
  let constant: unknown
  let readConstant: Scope | undefined
  return () => {
    // The scope function itself tracks an event: calling it again would never end.
    if (scope === undefined || isAsking) return undefined
    isAsking = true
    try {
      const given = scope()
      if (given !== undefined && given === constant) return readConstant
      const read = readScope(given, warnings)
      if (given?.[CONSTANT as never] === true) [constant, readConstant] = [given, read]
      return read
    } catch (error) {
      warnings.report('scope', error)
      return undefined
    } finally {
      isAsking = false
    }
  }
}

/** @throws TypeError when `value` is not an object, or is a promise. */
export function assertScope(value: unknown): asserts value is Fields {
  const problem = problemOf(value)
  if (problem !== undefined) throw new TypeError(problem)
}

function problemOf(value: unknown): string | undefined {
  if (isRecord(value) && typeof value['then'] !== 'function') return undefined
  return `scope: expected an object, got ${isRecord(value) ? 'a promise' : describe(value)}`
}

function readScope(value: unknown, warnings: Pick<Warnings, 'reportMisuse'>): Scope | undefined {
  if (value === undefined || value === null) return undefined
  const problem = problemOf(value)
  if (problem !== undefined) {
    warnings.reportMisuse('scope', `${problem}; it was ignored`)
    return undefined
  }
  const scope: Fields = {}
  for (const [name, isUsable] of Object.entries(FIELDS)) {
    const field = (value as Fields)[name]
    if (field === undefined || field === null) continue
    if (isUsable(field)) scope[name] = field
    else
      warnings.reportMisuse('scope', `scope: ${name}: ${describe(field)} is of no use here; it was ignored`)
  }
  return scope as Scope
}

const FIELDS = {
  userId: isId,
  anonymousId: isId,
  properties: isRecord,
  context: isRecord,
  integrations: isRecord,
  timestamp: (value: unknown) => toIsoTime(value) !== undefined,
}

function isId(value: unknown): boolean {
  return typeof value === 'string' ? value.trim() !== '' : Number.isFinite(value) || typeof value === 'bigint'
}

/** A value that cannot be merged stays as it is: the validation of the event then reports the value. */
function merge(base: unknown, over: unknown): unknown {
  if (over === undefined || over === null) return base
  if (!isRecord(over)) return over
  return mergeDeep(isRecord(base) ? base : {}, over)
}
