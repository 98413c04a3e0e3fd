import { type HttpHandler, HttpResponse, http } from 'msw'
import type { Message } from '../message/types.ts'
import { KINDS } from '../message/wire.ts'
import { REGIONS } from '../settings/schema.ts'

/** One request to the mocked service. */
export interface ServiceRequest {
  /** The messages of the request, in order. The `context` and `integrations` of a batch are merged into them. */
  readonly messages: readonly Message[]
  /** The request of msw. Its body has already been read. */
  readonly request: Request
  /** The write key: from the body, or from the `Authorization` header. */
  readonly writeKey: string | undefined
  /** The `X-Retry-Count` header: 0 for the first attempt. */
  readonly retryCount: number
}

/** The response of the mocked service. */
export interface ServiceResponse {
  /** The HTTP status. Default: 200. */
  status?: number | undefined
  /** The `Retry-After` header, in seconds. Default: none. */
  retryAfter?: number | undefined
  /** The body, which is written as JSON. Default: `{ success: true }` for 2xx, otherwise `{ success: false }`. */
  body?: unknown
}

/** Options of the mocked service. */
export interface HandlerOptions {
  /** Base URL of the service, as in the setting `host`. Default: the base URLs of both regions. */
  host?: string | undefined
  /** The path of batches, as in the setting `path`. Default: `/v1/batch`. */
  path?: string | undefined
  /** Called for each message of an accepted request. If it throws, the response is 500. */
  onMessage?: ((message: Message, request: ServiceRequest) => void) | undefined
  /**
   * Called for each request. Returns the response: an object, a `Response` of msw (`HttpResponse.error()` for a network error),
   * or `undefined` for 200. Default: 200 for all requests.
   */
  respond?:
    | ((
        request: ServiceRequest,
      ) => ServiceResponse | Response | undefined | Promise<ServiceResponse | Response | undefined>)
    | undefined
}

/**
 * Makes handlers for msw 2 that mock the tracking API, for batches and single calls, and a token server for OAuth.
 *
 * @example
 * const server = setupServer(...handlers({ onMessage: (message) => sent.push(message) }))
 */
export function handlers(options: HandlerOptions = {}): HttpHandler[] {
  const { host, path = '/v1/batch' } = options
  const hosts = host === undefined ? Object.values(REGIONS).map((region) => region.host) : [trim(host)]
  const tokenServers =
    host === undefined ? Object.values(REGIONS).map(({ authServer }) => authServer) : [trim(host)]
  return [
    ...hosts.flatMap((base) => [
      http.post(base + path, ({ request }) => handle(request, undefined, options)),
      ...KINDS.map((kind) =>
        http.post(`${base}/v1/${kind}`, ({ request }) => handle(request, kind, options)),
      ),
    ]),
    ...tokenServers.map((base) =>
      http.post(`${base}/token`, () =>
        HttpResponse.json({ access_token: 'a-token-of-a-mock', expires_in: 3_600, token_type: 'Bearer' }),
      ),
    ),
  ]
}

async function handle(
  request: Request,
  kind: string | undefined,
  { onMessage, respond }: HandlerOptions,
): Promise<Response> {
  const received = await read(request, kind)
  if (received === undefined) return respondWith({ status: 400 })
  const response = (await respond?.(received)) ?? {}
  if (response instanceof Response && !response.ok) return response
  const isTaken = response instanceof Response || (response.status ?? 200) < 300
  if (isTaken) for (const message of received.messages) onMessage?.(message, received)
  return response instanceof Response ? response : respondWith(response)
}

type Body = Partial<Message> & { batch?: Message[]; writeKey?: string }

/** Returns `undefined` for a request that the service would refuse with 400. */
async function read(request: Request, kind: string | undefined): Promise<ServiceRequest | undefined> {
  const body = await bodyOf(request)
  if (body === undefined) return undefined
  const { batch, context, integrations, writeKey } = body
  if (kind === undefined && !Array.isArray(batch)) return undefined
  const messages =
    kind === undefined
      ? (batch as Message[]).map((message) => ({
          ...message,
          context: { ...context, ...message.context },
          integrations: { ...integrations, ...message.integrations },
        }))
      : [{ ...body, type: kind } as Message]
  const retryCount = Number(request.headers.get('X-Retry-Count') ?? 0)
  return { messages, request, writeKey: writeKey ?? basicKeyOf(request), retryCount }
}

async function bodyOf(request: Request): Promise<Body | undefined> {
  try {
    const stream =
      request.headers.get('Content-Encoding') === 'gzip'
        ? request.body?.pipeThrough(new DecompressionStream('gzip'))
        : undefined
    const text = stream === undefined ? await request.text() : await new Response(stream).text()
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? (body as Body) : undefined
  } catch {
    return undefined
  }
}

function basicKeyOf(request: Request): string | undefined {
  const [scheme, value] = (request.headers.get('Authorization') ?? '').split(' ')
  if (scheme?.toLowerCase() !== 'basic' || value === undefined) return undefined
  try {
    return atob(value).replace(/:.*$/s, '')
  } catch {
    return undefined
  }
}

function respondWith({
  status = 200,
  retryAfter,
  body = { success: status < 300 },
}: ServiceResponse): Response {
  const headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
  return HttpResponse.json(body as Record<string, unknown>, { status, headers })
}

function trim(host: string): string {
  return host.replace(/\/+$/, '')
}
