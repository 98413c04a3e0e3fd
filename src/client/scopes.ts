import { toIsoTime } from '../message/build.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { Scope } from '../message/scope.ts'
import type { Observer } from './observer.ts'

type Fields = Record<string, unknown>

/** Marks scopes that never change. The symbol is global, because several copies of this module may be loaded. */
const CONSTANT = Symbol.for('trackpost.constantScope')

/** Marks a merged scope, which the `scope` setting may return for many calls, so that it is validated only once. */
export function makeConstant(scope: Scope): Scope {
  Object.defineProperty(scope, CONSTANT, { value: true })
  return Object.freeze(scope)
}

/**
 * If the user's function throws or returns a bad value, this is reported and the scope is ignored: no event may be lost because
 * of its scope.
 */
export function scopeReader(
  scope: (() => Scope | undefined) | undefined,
  observer: Pick<Observer, 'onUserError' | 'onMisuse'>,
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
      const read = readScope(given, observer)
      if (given?.[CONSTANT as never] === true) [constant, readConstant] = [given, read]
      return read
    } catch (error) {
      observer.onUserError('scope', error)
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

function readScope(value: unknown, observer: Pick<Observer, 'onMisuse'>): Scope | undefined {
  if (value === undefined || value === null) return undefined
  const problem = problemOf(value)
  if (problem !== undefined) {
    observer.onMisuse('scope', `${problem}; it was ignored`)
    return undefined
  }
  const scope: Fields = {}
  for (const [name, isUsable] of Object.entries(FIELDS)) {
    const field = (value as Fields)[name]
    if (field === undefined || field === null) continue
    if (isUsable(field)) scope[name] = field
    else observer.onMisuse('scope', `scope: ${name}: ${describe(field)} is of no use here; it was ignored`)
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
