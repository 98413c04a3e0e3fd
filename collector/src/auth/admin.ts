import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../http/read-body.ts'
import { HttpProblem, SECURITY_HEADERS } from '../http/reply.ts'
import type { LoginLimit } from './login-limit.ts'
import { sha256 } from './sources.ts'

const COOKIE = 'trackpost-collector'
const MAX_FORM_BYTES = 4096
const COOKIE_SECONDS = 30 * 86_400

/** Who may see the page and use its API. */
export type AdminAccess =
  /** Everybody who can reach the collector. */
  | 'open'
  /** Nobody: other machines reach the collector, and no token was set. */
  | 'closed'
  /** Only callers with this token. */
  | { token: string }

/**
 * Restricts the page and its API to callers that have the token.
 *
 * Scripts send it as `Authorization: Bearer <token>`. People type it once; their browser then keeps a value that is made from
 * it, in a cookie that no script can read and no other site can have sent.
 */
export class AdminGate {
  readonly #access: AdminAccess
  readonly #loginLimit: LoginLimit
  /** What the cookie holds: made from the token, so that it outlives a restart and does not give the token away. */
  readonly #cookieValue: string | undefined

  constructor(access: AdminAccess, loginLimit: LoginLimit) {
    this.#access = access
    this.#loginLimit = loginLimit
    if (typeof access === 'object') {
      this.#cookieValue = createHmac('sha256', access.token).update('admin cookie').digest('base64url')
    }
  }

  /**
   * Lets a request through, or says why not.
   *
   * @throws HttpProblem 401 without the token, 403 when no token is configured, 429 after too many failures.
   */
  check(request: IncomingMessage, address: string): void {
    if (this.#access === 'open') return
    if (this.#access === 'closed') {
      throw new HttpProblem(
        403,
        'admin_closed',
        'start the collector with --admin-token to use the page and /api',
      )
    }
    const cookie = cookieOf(request)
    if (cookie !== undefined && isEqual(cookie, this.#cookieValue ?? '')) return
    const bearer = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (bearer !== undefined && this.#isToken(bearer, address)) return
    throw new HttpProblem(401, 'admin_token', 'the admin token is needed', { 'www-authenticate': 'Bearer' })
  }

  /** Whether somebody without the token should be asked for it. */
  get isAsking(): boolean {
    return typeof this.#access === 'object'
  }

  #isToken(candidate: string, address: string): boolean {
    const seconds = this.#loginLimit.waitSeconds(address, candidate)
    if (seconds !== undefined) {
      throw new HttpProblem(429, 'rate_limited', 'too many failed logins', { 'retry-after': String(seconds) })
    }
    const isRight = typeof this.#access === 'object' && isEqual(candidate, this.#access.token)
    if (isRight) this.#loginLimit.succeeded(candidate)
    else this.#loginLimit.failed(address)
    return isRight
  }

  /** `POST /login`: the form of the page that asks for the token. */
  async login(request: IncomingMessage, response: ServerResponse, address: string): Promise<void> {
    const read = await readBody(request, MAX_FORM_BYTES)
    if (read === 'aborted') return
    const token =
      'refused' in read ? '' : (new URLSearchParams(read.body.toString('utf8')).get('token') ?? '')
    if (!this.#isToken(token, address)) return askForToken(response, 'This is not the token.')
    const isSecure = request.headers['x-forwarded-proto'] === 'https' ? '; Secure' : ''
    response.writeHead(303, {
      ...SECURITY_HEADERS,
      location: '/',
      'content-length': 0,
      'set-cookie': `${COOKIE}=${this.#cookieValue}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${COOKIE_SECONDS}${isSecure}`,
    })
    response.end()
  }
}

/** Digests have one length, so that comparing them tells nothing about either text. */
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

const LOGIN_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"

/** Answers with a page that asks for the token. */
export function askForToken(response: ServerResponse, message = ''): void {
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>trackpost-collector</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 22rem; margin: 20vh auto; padding: 0 1rem }
label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit }
input, button { margin-top: .5rem; padding: .5rem }
</style>
<h1>trackpost-collector</h1>
<form method="post" action="/login">
<label>Admin token<input name="token" type="password" autocomplete="current-password" required autofocus></label>
<button>Open</button>
<p role="alert">${message}</p>
</form>
</html>
`
  response.writeHead(401, {
    ...SECURITY_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'content-security-policy': LOGIN_POLICY,
    'referrer-policy': 'no-referrer',
  })
  response.end(body)
}
