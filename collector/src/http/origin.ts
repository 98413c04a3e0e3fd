import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { HttpProblem } from './reply.ts'
import { takeNoMore } from './server.ts'

/**
 * Names by which a machine reaches itself, or a container reaches its host. An attacker cannot make these names resolve to
 * another address.
 */
const OWN_NAMES: ReadonlySet<string> = new Set(['localhost', '[::1]', 'host.docker.internal'])

export function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1'
}

function isOwnName(name: string): boolean {
  return OWN_NAMES.has(name) || isLoopback(name) || name.endsWith('.localhost')
}

/** How long a browser may cache the response to a preflight request. */
const PREFLIGHT_SECONDS = '600'
const HEADER_NAMES = /^[\w-]+(?:, ?[\w-]+)*$/

export interface OriginRules {
  /** Whether only this machine can reach the collector. */
  isLocal: boolean
  /** `*` for all. Undefined means the origins of this machine on loopback, and otherwise none. */
  browserOrigins: readonly string[] | undefined
  /** Additional host names that are accepted on loopback. */
  hostNames: readonly string[]
}

/**
 * Refuses requests from web pages of other sites. A firewall does not stop these requests, because the browser is behind it.
 *
 * Pages with an allowed origin may send events. No page of another site may use the API or the page of the collector.
 */
export class OriginGuard {
  readonly #rules: OriginRules

  constructor(rules: OriginRules) {
    this.#rules = rules
  }

  /**
   * On loopback, accepts only host names of this machine and `hostNames`, which prevents DNS rebinding.
   *
   * @throws HttpProblem 400 when the host name is missing or ambiguous, 403 when it is not accepted.
   */
  checkHost(request: IncomingMessage): void {
    const names = request.rawHeaders.filter((text, index) => index % 2 === 0 && /^host$/i.test(text))
    if (names.length > 1) {
      takeNoMore(request.socket)
      throw new HttpProblem(400, 'bad_host', 'the Host header is given twice', { connection: 'close' })
    }
    const { httpVersionMajor: major, httpVersionMinor: minor } = request
    if (names.length === 0 && (major > 1 || minor > 0)) {
      throw new HttpProblem(400, 'bad_host', 'the Host header is missing')
    }
    if (!this.#rules.isLocal) return
    const name = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
    // Only an HTTP/1.0 client may omit the Host header. Browsers always send it.
    if (request.headers.host === undefined || isOwnName(name)) return
    if (this.#rules.hostNames.some((known) => known.toLowerCase() === name)) return
    throw new HttpProblem(403, 'host_name', 'ask for 127.0.0.1 or localhost, or add the name to hostNames')
  }

  /**
   * Sets the CORS headers.
   *
   * @throws HttpProblem 403 when the origin of the page is not allowed.
   */
  allowEvents(request: IncomingMessage, response: ServerResponse): void {
    const { origin } = request.headers
    if (origin === undefined) return
    response.setHeader('vary', 'Origin')
    if (isOwnOrigin(origin, request)) return
    if (!this.#maySendEvents(origin)) {
      throw new HttpProblem(
        403,
        'origin',
        `pages of ${origin.slice(0, 200)} may not send events; see browserOrigins`,
      )
    }
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('access-control-allow-credentials', 'true')
    response.setHeader('access-control-expose-headers', 'retry-after, x-ratelimit-reset')
  }

  #maySendEvents(origin: string): boolean {
    const { isLocal, browserOrigins } = this.#rules
    if (browserOrigins !== undefined) return browserOrigins.includes('*') || browserOrigins.includes(origin)
    return isLocal && URL.canParse(origin) && isOwnName(new URL(origin).hostname)
  }

  answerPreflight(request: IncomingMessage, response: ServerResponse): boolean {
    const { origin, 'access-control-request-method': method } = request.headers
    if (request.method !== 'OPTIONS' || origin === undefined || method === undefined) return false
    const wanted = request.headers['access-control-request-headers'] ?? ''
    response.setHeader('access-control-allow-methods', 'POST')
    if (HEADER_NAMES.test(wanted)) response.setHeader('access-control-allow-headers', wanted)
    if (request.headers['access-control-request-private-network'] === 'true') {
      response.setHeader('access-control-allow-private-network', 'true')
    }
    response.writeHead(204, { 'access-control-max-age': PREFLIGHT_SECONDS }).end()
    return true
  }

  /**
   * Other sites may only link to the page of the collector.
   *
   * @throws HttpProblem 403 when the request is from another site.
   */
  refuseForeign(request: IncomingMessage, isPage: boolean): void {
    const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers
    const isForeign =
      site === undefined
        ? origin !== undefined && !isOwnOrigin(origin, request)
        : site !== 'same-origin' && site !== 'none'
    if (!isForeign) return
    if (isPage && mode === 'navigate' && request.method === 'GET') return
    throw new HttpProblem(403, 'origin', 'the page and /api are not for pages of other sites')
  }
}

function isOwnOrigin(origin: string, request: IncomingMessage): boolean {
  return URL.canParse(origin) && new URL(origin).host === request.headers.host?.toLowerCase()
}
