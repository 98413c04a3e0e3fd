/** Deeper than any real context; beyond it, what is laid over wins as a whole. */
const MAX_DEPTH = 32

type Fields = Record<string, unknown>

/**
 * `base` with `over` laid over it, level by level: object literals are merged, everything else replaces.
 * `undefined` in `over` says nothing; `null` replaces. Neither is written to, and the literals of `over` are copied.
 */
export function mergeDeep(base: Fields, over: Fields): Fields {
  return merge(base, over, [])
}

/** @param ancestors The objects that contain `over`: one that contains itself twice would take for ever to follow. */
function merge(base: Fields, over: Fields, ancestors: readonly Fields[]): Fields {
  const line = [...ancestors, over]
  const merged: Fields = { ...base }
  for (const key of Object.keys(over)) {
    const value = over[key]
    if (value === undefined) continue
    const below = Object.getOwnPropertyDescriptor(merged, key)?.value
    // A literal is copied also where there is nothing to merge it with: later changes to it must not show.
    const isCopied = line.length <= MAX_DEPTH && isLiteral(value) && !line.includes(value)
    setOwn(merged, key, isCopied ? merge(isLiteral(below) ? below : {}, value, line) : value)
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
