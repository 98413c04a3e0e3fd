type Fields = Record<string, unknown>

/**
 * Merges `over` into a copy of `base`. Object literals are merged at every level; any other value in `over` replaces the value
 * in `base`. `undefined` in `over` is ignored, but `null` replaces.
 */
export function mergeDeep(base: Fields, over: Fields): Fields {
  return merge(base, over, [])
}

/** @param ancestors The objects that contain `over`. They are not merged again: merging a cycle would never end. */
function merge(base: Fields, over: Fields, ancestors: readonly Fields[]): Fields {
  const line = [...ancestors, over]
  const merged: Fields = { ...base }
  for (const key of Object.keys(over)) {
    const value = over[key]
    if (value === undefined) continue
    const below = Object.getOwnPropertyDescriptor(merged, key)?.value
    // An object literal is copied even if `base` has no such key, so that later changes to it have no effect.
    const isCopied = isLiteral(value) && !line.includes(value)
    setOwn(merged, key, isCopied ? merge(isLiteral(below) ? below : {}, value, line) : value)
  }
  return merged
}

/** Sets a key as plain data. A plain assignment would run setters of the prototype, such as the setter of `__proto__`. */
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
