/** Takes a name in lower case. Joins several lines of one header with commas. */
type ReadHeader = (name: string) => string | undefined

interface RawRequest {
  readonly headers?: unknown
  readonly socket?: { readonly remoteAddress?: unknown } | null
}

/** Fastify and Hono wrap the original request; Express and NestJS do not. */
export function rawRequest(request: object): RawRequest {
  const { raw } = request as { readonly raw?: unknown }
  return (typeof raw === 'object' && raw !== null && 'headers' in raw ? raw : request) as RawRequest
}

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
