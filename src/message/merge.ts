/** Deeper than any real context; beyond it, what is laid over wins as a whole. Cycles end here as well. */
const MAX_DEPTH = 32

type Fields = Record<string, unknown>

/**
 * `base` with `over` laid over it, level by level: object literals are merged, everything else replaces.
 * `undefined` in `over` says nothing; `null` replaces. Neither is written to.
 */
export function mergeDeep(base: Fields, over: Fields, depth = 0): Fields {
  const merged: Fields = { ...base }
  for (const key of Object.keys(over)) {
    const value = over[key]
    if (value === undefined) continue
    const below = Object.getOwnPropertyDescriptor(merged, key)?.value
    const isMerged = depth < MAX_DEPTH && isLiteral(below) && isLiteral(value)
    setOwn(merged, key, isMerged ? mergeDeep(below, value, depth + 1) : value)
  }
  return merged
}

/** Sets a key as plain data. Assigning would run what the prototype has there: the setter of `__proto__`. */
export function setOwn(target: Fields, key: string, value: unknown): void {
  if (key in target) {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else target[key] = value
}

function isLiteral(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
