import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ConfigError } from '../config/config-error.ts'
import { readBody } from '../http/read-body.ts'
import { HttpProblem, SECURITY_HEADERS } from '../http/reply.ts'
import { sha256 } from './sources.ts'

const COOKIE = 'trackpost-collector'
const MAX_FORM_BYTES = 4096
const COOKIE_SECONDS = 30 * 86_400

const MIN_TOKEN_CHARACTERS = 8

/**
 * Scripts send the token as `Authorization: Bearer <token>`. A user types the token once. The browser then keeps a value
 * derived from the token in a cookie, which scripts cannot read and which is not sent with requests from other sites.
 */
export class AdminGate {
  readonly #token: string | undefined
  readonly #isLocal: boolean
  /** Derived from the token, so that it stays valid after a restart and does not reveal the token. */
  readonly #cookie: string

  /**
   * @param token Undefined = everybody who can reach a collector on loopback may use it, and nobody may use a public one.
   * @throws ConfigError for a token that is too short.
   */
  constructor(token: string | undefined, isLocal: boolean) {
    if (token !== undefined && token.length < MIN_TOKEN_CHARACTERS)
      throw new ConfigError(`adminToken: expected at least ${MIN_TOKEN_CHARACTERS} characters`)
    this.#token = token
    this.#isLocal = isLocal
    this.#cookie = createHmac('sha256', token ?? '')
      .update('admin cookie')
      .digest('base64url')
  }

  /** @throws HttpProblem 401 without the token, 403 when no token is configured. */
  check(request: IncomingMessage): void {
    if (this.#token === undefined) {
      if (this.#isLocal) return
      const message = 'start the collector with --admin-token to use the page and /api'
      throw new HttpProblem(403, 'admin_closed', message)
    }
    const cookie = cookieOf(request)
    if (cookie !== undefined && isEqual(cookie, this.#cookie)) return
    const bearer = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (bearer !== undefined && isEqual(bearer, this.#token)) return
    throw new HttpProblem(401, 'admin_token', 'the admin token is needed', { 'www-authenticate': 'Bearer' })
  }

  get hasToken(): boolean {
    return this.#token !== undefined
  }

  async login(request: IncomingMessage, response: ServerResponse, isSecure: boolean): Promise<void> {
    const { body } = await readBody(request, MAX_FORM_BYTES)
    const token = new URLSearchParams(body.toString('utf8')).get('token') ?? ''
    if (this.#token === undefined || !isEqual(token, this.#token))
      throw new HttpProblem(401, 'wrong_token', 'This is not the token.')
    setCookie(response, this.#cookie, COOKIE_SECONDS, isSecure)
  }

  /** Other browsers stay logged in until the token changes. */
  logout(response: ServerResponse, isSecure: boolean): void {
    setCookie(response, '', 0, isSecure)
  }
}

/** @param isSecure Whether the browser uses HTTPS: the cookie is then never sent without it. */
function setCookie(response: ServerResponse, value: string, maxAgeSeconds: number, isSecure: boolean): void {
  response.writeHead(204, {
    ...SECURITY_HEADERS,
    'set-cookie': `${COOKIE}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`,
  })
  response.end()
}

/** Compares digests of equal length in constant time, so that the time reveals nothing about the texts. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(one)), Buffer.from(sha256(other)))
}

function cookieOf(request: IncomingMessage): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === COOKIE) return value
  }
  return undefined
}
