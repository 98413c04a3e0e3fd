import { describe, isRecord } from '../message/describe.ts'
import type { Scope } from '../message/scope.ts'
import { unknownOption } from '../settings/suggest.ts'
import { readAddress } from './address.ts'
import { readForwarded } from './forwarded.ts'
import { readLocale } from './locale.ts'
import { readPage } from './page.ts'
import { headerReader, rawRequest } from './raw-request.ts'
import { readTrust, type TrustProxy } from './trust.ts'

/**
 * A request of `node:http` or `node:http2`, of Express, Fastify or NestJS, or one of Fetch: the `Request` of Next.js, Bun,
 * Deno and Workers, `c.req.raw` of Hono.
 */
export interface AnyRequest {
  /** For Fetch an absolute URL, else the target of the request line. */
  readonly url?: string | undefined
  /** A `Headers` object, or a plain one with names in lower case. */
  readonly headers: object
}

/** Which proxies are trusted. */
export interface RequestScopeOptions {
  /**
   * Whose forwarding headers are believed: the number of proxies between the client and this program, or a list of their
   * addresses and CIDR ranges. Default: `false`, nobody's: such headers have no effect then, so clients cannot forge them.
   */
  trustProxy?: TrustProxy | undefined
  /**
   * The headers that the proxies set: `x-forwarded` for `X-Forwarded-For`, `-Proto` and `-Host`, `forwarded` for
   * `Forwarded` (RFC 7239). The others are never read, since a proxy passes on headers that it does not know. Default:
   * `x-forwarded`.
   */
  proxyHeaders?: 'x-forwarded' | 'forwarded' | undefined
  /**
   * The address at the other end of the connection. Default: that of the socket. A Fetch `Request` has no socket: without
   * this option or a trusted proxy, there is no `context.ip`.
   */
  ip?: string | undefined
}

/** The client of a request, as its headers describe it: a {@link Scope} with a `context`. Missing facts are left out. */
export interface RequestScope extends Scope {
  /** `ip`, `userAgent`, `locale`, and `page` with `url`, `path`, `referrer` and `search`. */
  context: {
    /** IP address of the client, without port. IPv6 in its canonical form. */
    ip?: string
    /** Up to 1,024 characters. */
    userAgent?: string
    /** The language that `Accept-Language` prefers, for example `de-CH`. */
    locale?: string
    /** The address that was asked for, each part up to 2,048 characters. */
    page?: { url?: string; path?: string; referrer?: string; search?: string }
  }
}

const OPTIONS = ['trustProxy', 'proxyHeaders', 'ip'] as const satisfies readonly (keyof RequestScopeOptions)[]
const MAX_USER_AGENT = 1_024

/**
 * Reads who made a request, with which user agent, and for which page. Never throws, whatever a client sends, and limits
 * the length of each part, so that no event gets too large.
 *
 * @throws TypeError for an unknown option, and for an invalid `trustProxy` or `proxyHeaders`.
 * @example
 * app.use((request, response, next) => runWithScope(requestScope(request, { trustProxy: 1 }), next))
 */
export function requestScope(request: AnyRequest, options: RequestScopeOptions = {}): RequestScope {
  const { trustProxy, proxyHeaders = 'x-forwarded', ip } = readOptions(options)
  const countTrusted = readTrust(trustProxy)
  if (proxyHeaders !== 'x-forwarded' && proxyHeaders !== 'forwarded') {
    throw new TypeError(`proxyHeaders: expected 'x-forwarded' or 'forwarded', got ${String(proxyHeaders)}`)
  }
  const context: RequestScope['context'] = {}
  try {
    const raw = rawRequest(request)
    const header = headerReader(raw.headers)
    const peer = readAddress(ip ?? raw.socket?.remoteAddress)
    const client = readForwarded(peer, proxyHeaders, header, countTrusted)
    const userAgent = header('user-agent')?.slice(0, MAX_USER_AGENT)
    const locale = readLocale(header('accept-language'))
    const page = readPage(raw, header, client)
    if (client.ip !== undefined) context.ip = client.ip
    if (userAgent) context.userAgent = userAgent
    if (locale !== undefined) context.locale = locale
    if (page !== undefined) context.page = page
  } catch {
    // An object that throws when it is read is not a request. The parts read so far are left out, since a part alone may
    // mislead.
  }
  return { context }
}

/**
 * Refuses unknown options: with a misspelt `trustProxy`, the address of the proxy would be taken for that of the client.
 */
function readOptions(given: RequestScopeOptions | null): RequestScopeOptions {
  if (given === null) return {}
  if (!isRecord(given)) throw new TypeError(`options: expected an object, got ${describe(given)}`)
  const unknown = unknownOption(given, OPTIONS)
  if (unknown !== undefined) throw new TypeError(`${unknown[0]}: ${unknown[1]}`)
  return given
}
