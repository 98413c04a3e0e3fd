import { type HttpHandler, HttpResponse, http } from 'msw'
import type { Message } from '../message/types.ts'
import { REGIONS } from '../settings/schema.ts'

/** Options of the mocked service. */
export interface HandlerOptions {
  /** Base URL of the service, as in the setting `host`. Default: the base URLs of both regions. */
  host?: string | undefined
  /** The path of batches, as in the setting `path`. Default: `/v1/batch`. */
  path?: string | undefined
  /** Called for each message of a request that is answered with 2xx. If it throws, the response is 500. */
  onMessage?: ((message: Message) => void) | undefined
  /**
   * Called for each request, whose body has been read. Returns a response of msw, such as `new HttpResponse(null, { status: 503 })`
   * or `HttpResponse.error()` for a network error, or `undefined` for 200. Default: 200 for all requests.
   */
  respond?:
    | ((
        messages: readonly Message[],
        request: Request,
      ) => Response | undefined | Promise<Response | undefined>)
    | undefined
}

/**
 * Makes handlers for msw 2 that mock the tracking API, and a token server for OAuth.
 *
 * @example
 * const server = setupServer(...handlers({ onMessage: (message) => sent.push(message) }))
 */
export function handlers({
  host,
  path = '/v1/batch',
  onMessage,
  respond,
}: HandlerOptions = {}): HttpHandler[] {
  const base = host?.replace(/\/+$/, '')
  const regions = base === undefined ? Object.values(REGIONS) : [{ host: base, authServer: base }]
  const handle = async ({ request }: { request: Request }): Promise<Response> => {
    const messages = await read(request)
    if (messages === undefined) return HttpResponse.json({ success: false }, { status: 400 })
    const response = (await respond?.(messages, request)) ?? HttpResponse.json({ success: true })
    if (response.ok) for (const message of messages) onMessage?.(message)
    return response
  }
  return regions.flatMap(({ host, authServer }) => [
    http.post(host + path, handle),
    http.post(`${authServer}/token`, () =>
      HttpResponse.json({ access_token: 'a-token-of-a-mock', expires_in: 3_600, token_type: 'Bearer' }),
    ),
  ])
}

/** Returns `undefined` for a request that the service would refuse with 400. */
async function read(request: Request): Promise<Message[] | undefined> {
  try {
    const stream =
      request.headers.get('Content-Encoding') === 'gzip'
        ? request.body?.pipeThrough(new DecompressionStream('gzip'))
        : undefined
    const text = stream === undefined ? await request.text() : await new Response(stream).text()
    const { batch } = JSON.parse(text) as { batch?: unknown }
    return Array.isArray(batch) ? batch : undefined
  } catch {
    return undefined
  }
}
