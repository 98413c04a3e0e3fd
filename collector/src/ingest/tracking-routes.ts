import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OriginGuard } from '../http/origin.ts'
import { readBody } from '../http/read-body.ts'
import { notFound, replyJson, requireMethod } from '../http/reply.ts'
import type { RequestNotes } from '../http/request-notes.ts'
import type { TrustedProxies } from '../network-address.ts'
import { decoded } from '../percent-decoding.ts'
import { isKind, type Kind } from '../record.ts'
import type { TrackingApi } from './tracking-api.ts'

/** Other names of the kinds: the short ones of browser libraries, and the default path of older mobile and server libraries. */
const ALIASES: Readonly<Record<string, Kind | 'batch'>> = {
  t: 'track',
  i: 'identify',
  p: 'page',
  s: 'screen',
  g: 'group',
  a: 'alias',
  b: 'batch',
  import: 'batch',
}
/** The path to which browser libraries send metrics about themselves. */
const METRICS = 'm'
const MAX_METRICS_BYTES = 65_536

export interface TrackingRoutesParts {
  guard: OriginGuard
  proxies: TrustedProxies
  tracking: TrackingApi
}

/** Everything below `/v1`. */
export class TrackingRoutes {
  readonly #parts: TrackingRoutesParts

  constructor(parts: TrackingRoutesParts) {
    this.#parts = parts
  }

  /**
   * Returns false if the path is not one of these.
   *
   * @throws HttpProblem for a path below `/v1` that does not exist, another method, or a page that may not send events.
   */
  async handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<boolean> {
    const [, version, name = '', ...more] = path.split('/')
    if (version !== 'v1') return false
    this.#parts.guard.allowEvents(request, response)
    if (name === 'projects') this.#browserSettings(more, request, response)
    else if (more.length === 0) await this.#track(name, request, response, notes)
    else throw notFound()
    return true
  }

  async #track(
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<void> {
    const kind = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name
    const isKnown = kind === 'batch' || isKind(kind)
    if (!isKnown && kind !== METRICS) throw notFound()
    if (this.#parts.guard.answerPreflight(request, response)) return
    requireMethod(request, 'POST')
    if (isKnown) return this.#parts.tracking.handle(request, response, kind, notes)
    const read = await readBody(request, MAX_METRICS_BYTES)
    if (read === 'aborted') return
    notes.bodyBytes = read.sentBytes
    replyJson(response, 200, { success: true })
  }

  /** The settings that a browser library loads at its start. They make the library send all events to this collector. */
  #browserSettings([writeKey, file]: string[], request: IncomingMessage, response: ServerResponse): void {
    if (file !== 'settings' || writeKey === undefined) throw notFound()
    if (this.#parts.guard.answerPreflight(request, response)) return
    requireMethod(request, 'GET')
    const isSecure = this.#parts.proxies.isSecure(request)
    replyJson(response, 200, {
      integrations: {
        'Segment.io': {
          apiKey: decoded(writeKey),
          apiHost: `${request.headers.host ?? ''}/v1`,
          protocol: isSecure ? 'https' : 'http',
          deliveryStrategy: { strategy: 'standard' },
        },
      },
      plan: { track: { __default: { enabled: true, integrations: {} } } },
      edgeFunction: {},
      analyticsNextEnabled: true,
      enabledMiddleware: {},
    })
  }
}
