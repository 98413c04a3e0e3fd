/** Deeper than any real context. Below this level, the value of `over` replaces that of `base`. */
const MAX_DEPTH = 32

type Fields = Record<string, unknown>

/**
 * Merges `over` into a copy of `base`, level by level: object literals are merged, all other values replace. `undefined` in
 * `over` is ignored; `null` replaces. Neither argument is changed, and the object literals of `over` are copied.
 */
export function mergeDeep(base: Fields, over: Fields): Fields {
  return merge(base, over, [])
}

/**
 * @param ancestors The objects that contain `over`. Without them, following an object that contains itself twice would take
 * forever.
 */
function merge(base: Fields, over: Fields, ancestors: readonly Fields[]): Fields {
  const line = [...ancestors, over]
  const merged: Fields = { ...base }
  for (const key of Object.keys(over)) {
    const value = over[key]
    if (value === undefined) continue
    const below = Object.getOwnPropertyDescriptor(merged, key)?.value
    // A literal is copied even if there is nothing to merge it with, so that later changes to it have no effect.
    const isCopied = line.length <= MAX_DEPTH && isLiteral(value) && !line.includes(value)
    setOwn(merged, key, isCopied ? merge(isLiteral(below) ? below : {}, value, line) : value)
  }
  return merged
}

/** Defines a key as plain data. An assignment would run setters of the prototype, such as that of `__proto__`. */
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
