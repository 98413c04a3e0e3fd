/** Takes a name in lower case. Joins several lines of one header with commas. */
type ReadHeader = (name: string) => string | undefined

export function headerReader(headers: unknown): ReadHeader {
  const { get } = headers as { get?: unknown }
  if (typeof get === 'function') return (name) => textOf(get.call(headers, name))
  return (name) => textOf((headers as Record<string, unknown>)[name])
}

/** If a header has several lines, Node.js may return them as an array. */
function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : undefined
}
