type Fields = Record<string, unknown>

/** Object literals are merged at every level; any other value in `over` replaces that in `base`. `undefined` is ignored. */
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

/** A plain assignment would run setters of the prototype, such as that of `__proto__`. */
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
