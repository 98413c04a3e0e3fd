import type { Scope } from '../message/scope.ts'
import { mistake, requireOptions } from '../plugins/options.ts'
import { readAddress } from './address.ts'
import { readForwarded } from './forwarded.ts'
import { headerReader } from './headers.ts'
import { readLocale } from './locale.ts'

/**
 * A request of `node:http`, `node:http2`, Express, Fastify or NestJS, or a Fetch `Request`, as in Next.js, Bun, Deno,
 * Cloudflare Workers and Hono (`c.req.raw`).
 */
export interface AnyRequest {
  /** A `Headers` object, or a plain object with names in lower case. */
  readonly headers: object
}

/** Options of {@link requestScope}. */
export interface RequestScopeOptions {
  /**
   * How many proxies are between the client and this program: their `X-Forwarded-For` is trusted. Default: `false`: the header has
   * no effect, because clients can forge it.
   */
  trustProxy?: false | number | undefined
  /**
   * The IP address at the other end of the connection, or that of the client if your framework knows it. Default: the address of
   * the socket. A Fetch `Request` has no socket: without this option or a trusted proxy, there is no `context.ip`.
   */
  ip?: string | undefined
}

/** The client of a request, as its headers describe it: a {@link Scope} with a `context`. Missing facts are left out. */
export interface RequestScope extends Scope {
  /** `ip`, `userAgent` and `locale`. */
  context: {
    /** IP address of the client, without port. IPv6 in its canonical form. */
    ip?: string
    /** The `User-Agent` header, up to 1,024 characters. */
    userAgent?: string
    /** The language that `Accept-Language` prefers, for example `de-CH`. */
    locale?: string
  }
}

const MAX_USER_AGENT = 1_024

/**
 * Reads the IP address, the user agent and the language of a request. Never throws because of the content of a request.
 *
 * @throws TypeError for an unknown option, and for an invalid `trustProxy`.
 * @example
 * app.use((request, response, next) => runWithScope(requestScope(request, { trustProxy: 1 }), next))
 */
export function requestScope(request: AnyRequest, options: RequestScopeOptions = {}): RequestScope {
  // With a misspelt `trustProxy`, the address of the proxy would count as that of the client.
  requireOptions('requestScope', options, ['trustProxy', 'ip'])
  const { trustProxy, ip } = options
  const trusted = readTrust(trustProxy)
  const context: RequestScope['context'] = {}
  try {
    const { headers, socket } = request as AnyRequest & {
      readonly socket?: { remoteAddress?: unknown } | null
    }
    const header = headerReader(headers)
    const peer = readAddress(ip ?? socket?.remoteAddress)
    const address = readForwarded(peer, header('x-forwarded-for'), trusted)
    const userAgent = header('user-agent')?.slice(0, MAX_USER_AGENT)
    const locale = readLocale(header('accept-language'))
    if (address !== undefined) context.ip = address
    if (userAgent) context.userAgent = userAgent
    if (locale !== undefined) context.locale = locale
  } catch {
    // It is not a request. `context` stays empty, because a part alone may mislead.
  }
  return { context }
}

function readTrust(trust: RequestScopeOptions['trustProxy'] = false): number {
  if (trust === false) return 0
  if (Number.isInteger(trust) && trust >= 0) return trust
  throw mistake('requestScope', 'trustProxy', 'false or a number of proxies', trust)
}
