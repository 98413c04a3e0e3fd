export type Change = { kind: 'added' } | { kind: 'removed'; was: unknown } | { kind: 'changed'; was: unknown }

/** The keys are paths of the changed values, from `pathKey`. */
export type Changes = ReadonlyMap<string, Change>

export type Path = ReadonlyArray<string | number>

export function pathKey(path: Path): string {
  return JSON.stringify(path)
}

/** Formats a path as code: `properties.items[0]["odd name"]`. */
export function pathText(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      if (/^[A-Za-z_$][\w$]*$/.test(part)) return index === 0 ? part : `.${part}`
      return `[${JSON.stringify(part)}]`
    })
    .join('')
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function entriesOf(value: unknown): Array<[string | number, unknown]> {
  if (Array.isArray(value)) return value.map((item, index) => [index, item])
  return isObject(value) ? Object.entries(value) : []
}

function isSameShape(one: unknown, other: unknown): boolean {
  return (isObject(one) && isObject(other)) || (Array.isArray(one) && Array.isArray(other))
}

/**
 * If an object or a list was added or removed as a whole, the result does not list the values inside. The order of keys does
 * not matter. List items are compared by position.
 */
export function compare(before: unknown, after: unknown): Changes {
  const changes = new Map<string, Change>()
  const visit = (one: unknown, other: unknown, path: Path) => {
    if (!isSameShape(one, other)) {
      if (!Object.is(one, other)) changes.set(pathKey(path), { kind: 'changed', was: one })
      return
    }
    const old = new Map(entriesOf(one))
    for (const [key, value] of entriesOf(other)) {
      if (old.has(key)) visit(old.get(key), value, [...path, key])
      else changes.set(pathKey([...path, key]), { kind: 'added' })
      old.delete(key)
    }
    for (const [key, was] of old) changes.set(pathKey([...path, key]), { kind: 'removed', was })
  }
  visit(before, after, [])
  return changes
}
