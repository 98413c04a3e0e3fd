import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../http/read-body.ts'
import { HttpProblem, SECURITY_HEADERS } from '../http/reply.ts'
import { sha256 } from './sources.ts'

const COOKIE = 'trackpost-collector'
const MAX_FORM_BYTES = 4096
const COOKIE_SECONDS = 30 * 86_400

export type AdminAccess =
  /** Everybody who can reach the collector. */
  | 'open'
  /** Nobody: the collector can be reached from other machines, but no token was set. */
  | 'closed'
  | { token: string; readToken: string | undefined }

/** What the holder of a token may do. */
export interface AdminRight {
  isReader: boolean
}

const ALL: AdminRight = { isReader: false }
const READING: AdminRight = { isReader: true }

/**
 * Scripts send the token as `Authorization: Bearer <token>`. A user types the token once. The browser then keeps a value
 * derived from the token in a cookie, which scripts cannot read and which is not sent with requests from other sites.
 */
export class AdminGate {
  readonly #access: AdminAccess
  readonly #tokens: ReadonlyArray<{ token: string; cookie: string; right: AdminRight }>

  constructor(access: AdminAccess) {
    this.#access = access
    const given = typeof access === 'object' ? access : { token: undefined, readToken: undefined }
    this.#tokens = [newToken(given.token, ALL), newToken(given.readToken, READING)].flat()
  }

  /** @throws HttpProblem 401 without the token, 403 when no token is configured. */
  check(request: IncomingMessage): AdminRight {
    if (this.#access === 'open') return ALL
    if (this.#access === 'closed') {
      throw new HttpProblem(
        403,
        'admin_closed',
        'start the collector with --admin-token to use the page and /api',
      )
    }
    const cookie = cookieOf(request)
    const byCookie = this.#tokens.find((one) => cookie !== undefined && isEqual(cookie, one.cookie))
    if (byCookie !== undefined) return byCookie.right
    const bearer = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const byToken = bearer === undefined ? undefined : this.#find(bearer)
    if (byToken !== undefined) return byToken.right
    throw new HttpProblem(401, 'admin_token', 'the admin token is needed', { 'www-authenticate': 'Bearer' })
  }

  get hasToken(): boolean {
    return typeof this.#access === 'object'
  }

  #find(candidate: string): { cookie: string; right: AdminRight } | undefined {
    return this.#tokens.find(({ token }) => isEqual(candidate, token))
  }

  /** @throws HttpProblem 401 when the token is wrong. */
  async login(request: IncomingMessage, response: ServerResponse, isSecure: boolean): Promise<void> {
    const read = await readBody(request, MAX_FORM_BYTES)
    if (read === 'aborted') return
    const token =
      'refused' in read ? '' : (new URLSearchParams(read.body.toString('utf8')).get('token') ?? '')
    const found = this.#find(token)
    if (found === undefined) throw new HttpProblem(401, 'wrong_token', 'This is not the token.')
    setCookie(response, found.cookie, COOKIE_SECONDS, isSecure)
  }

  /** Other browsers stay logged in until the token changes. */
  logout(response: ServerResponse, isSecure: boolean): void {
    setCookie(response, '', 0, isSecure)
  }
}

/** The cookie is derived from the token, so that it stays valid after a restart and does not reveal the token. */
function newToken(token: string | undefined, right: AdminRight) {
  if (token === undefined) return []
  return [{ token, right, cookie: createHmac('sha256', token).update('admin cookie').digest('base64url') }]
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
  return timingSafeEqual(sha256(one), sha256(other))
}

function cookieOf(request: IncomingMessage): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === COOKIE) return value
  }
  return undefined
}
