import type { IncomingMessage } from 'node:http'
import type { OriginGuard } from '../http/origin.ts'
import { readBody } from '../http/read-body.ts'
import { notFound, replyJson, requireMethod } from '../http/reply.ts'
import type { Exchange } from '../http/request-notes.ts'
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
const METRICS = 'm'
const MAX_METRICS_BYTES = 65_536

export interface TrackingRoutesParts {
  guard: OriginGuard
  proxies: TrustedProxies
  tracking: TrackingApi
}

/**
 * Everything below `/v1`. Resolves with false if the path is not one of these.
 *
 * @throws HttpProblem for a path below `/v1` that does not exist, another method, or a page that may not send events.
 */
export async function handleTracking(
  { guard, proxies, tracking }: TrackingRoutesParts,
  path: string,
  exchange: Exchange,
): Promise<boolean> {
  const { request, response, notes } = exchange
  const [, version, name = '', ...more] = path.split('/')
  if (version !== 'v1') return false
  guard.allowEvents(request, response)
  const kind = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name
  const isSettings = name === 'projects' && more[1] === 'settings'
  const isKnown = kind === 'batch' || isKind(kind)
  if (!isSettings && (more.length > 0 || (!isKnown && kind !== METRICS))) throw notFound()
  if (guard.answerPreflight(request, response)) return true
  requireMethod(request, isSettings ? 'GET' : 'POST')
  if (isSettings) replyJson(response, 200, settingsOf(more[0] ?? '', request, proxies))
  else if (isKnown) await tracking.handle(kind, exchange)
  else {
    notes.bodyBytes = (await readBody(request, MAX_METRICS_BYTES)).sentBytes
    replyJson(response, 200, { success: true })
  }
  return true
}

/** The settings that a browser library loads at its start. They make the library send all events to this collector. */
function settingsOf(writeKey: string, request: IncomingMessage, proxies: TrustedProxies): unknown {
  return {
    integrations: {
      'Segment.io': {
        apiKey: decoded(writeKey),
        apiHost: `${request.headers.host ?? ''}/v1`,
        protocol: proxies.isSecure(request) ? 'https' : 'http',
        deliveryStrategy: { strategy: 'standard' },
      },
    },
    plan: { track: { __default: { enabled: true, integrations: {} } } },
    edgeFunction: {},
    analyticsNextEnabled: true,
    enabledMiddleware: {},
  }
}
