import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { HttpProblem } from './reply.ts'

/** Names by which a machine reaches itself, or a container reaches its host. An attacker cannot make them resolve to another address. */
const OWN_NAMES: ReadonlySet<string> = new Set(['localhost', '[::1]', 'host.docker.internal'])

/** Whether an address can only be reached from this machine. */
export function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1'
}

function isOwnName(name: string): boolean {
  return OWN_NAMES.has(name) || isLoopback(name) || name.endsWith('.localhost')
}

/** How long a browser may cache the response to a preflight request, in seconds. */
const PREFLIGHT_SECONDS = '600'
const HEADER_NAMES = /^[\w-]+(?:, ?[\w-]+)*$/

/** Rules for the origins whose pages may send events. */
export interface OriginRules {
  /** Whether only this machine can reach the collector. */
  isLocal: boolean
  /** Origins of pages that may send events; `*` = all. Default: on loopback those of this machine, elsewhere none. */
  browserOrigins: readonly string[] | undefined
  /** Further host names that are accepted on loopback. */
  hostNames: readonly string[]
}

/**
 * Keeps pages of other sites out: a browser sends their requests from inside the firewall.
 *
 * Pages with an allowed origin may send events. The page of the collector and its API are closed to pages of other sites.
 */
export class OriginGuard {
  readonly #rules: OriginRules

  constructor(rules: OriginRules) {
    this.#rules = rules
  }

  /**
   * On loopback, accepts only host names of this machine, which prevents DNS rebinding.
   *
   * @throws HttpProblem 400 when the name is missing or ambiguous, 403 when it is not a name of this machine.
   */
  checkHost(request: IncomingMessage): void {
    const names = request.rawHeaders.filter((text, index) => index % 2 === 0 && /^host$/i.test(text))
    if (names.length > 1) throw new HttpProblem(400, 'bad_host', 'the Host header is given twice')
    const { httpVersionMajor: major, httpVersionMinor: minor } = request
    if (names.length === 0 && (major > 1 || minor > 0)) {
      throw new HttpProblem(400, 'bad_host', 'the Host header is missing')
    }
    if (!this.#rules.isLocal) return
    const name = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
    // Only HTTP/1.0 clients may leave it out; browsers always send it.
    if (request.headers.host === undefined || isOwnName(name)) return
    if (this.#rules.hostNames.some((known) => known.toLowerCase() === name)) return
    throw new HttpProblem(403, 'host_name', 'ask for 127.0.0.1 or localhost, or add the name to hostNames')
  }

  /**
   * Allows a page to send events or refuses it, and sets the CORS headers.
   *
   * @throws HttpProblem 403 when the page's origin is not allowed.
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

  /** Answers a preflight request; false when the request is something else. */
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
   * Refuses requests from pages of other sites, except links from there to the page itself.
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
