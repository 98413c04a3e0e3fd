import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type JWTPayload, jwtVerify } from 'jose'
import { type Loopback, listen, readBody } from './loopback.ts'

/** A response that is sent instead of a token. */
export type TokenReply = (request: IncomingMessage, response: ServerResponse, body: string) => void

export interface TokenServerOptions {
  /** The value of `expires_in`, in seconds, which is sent unchanged, whether it is valid or not. Default: 3,600. */
  readonly expiresIn?: unknown
  /** The server's clock. Default: the real time. */
  readonly nowMs?: () => number
  /** The milliseconds that a response takes. Default: 0. */
  readonly delayMs?: number
  readonly scope?: string
}

export const CLIENT_ID = 'client_Zuerich7'
export const KEY_ID = 'key-2026-11'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** The private key whose public key the server knows. */
export const CLIENT_KEY: KeyObject = privateKey
export const CLIENT_PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

/**
 * A token server on 127.0.0.1. It verifies each assertion with jose: signature, key id, issuer, subject, audience, times, and
 * that its id was not used before. Then it issues a token.
 */
export class TokenServer {
  /** The form bodies of the requests, in the order in which they arrived. */
  readonly requests: URLSearchParams[] = []
  readonly claims: JWTPayload[] = []
  /** The reasons why assertions were refused. */
  readonly refusals: string[] = []
  /** Replies that are sent instead of the next tokens. */
  readonly replies: TokenReply[] = []
  readonly #issued: string[] = []
  readonly #valid = new Set<string>()
  readonly #ids = new Set<string>()
  readonly #options: TokenServerOptions
  #loopback: Loopback | undefined

  private constructor(options: TokenServerOptions) {
    this.#options = options
  }

  static async start(options: TokenServerOptions = {}): Promise<TokenServer> {
    const server = new TokenServer(options)
    server.#loopback = await listen((request, response) => void server.#serve(request, response))
    return server
  }

  get url(): string {
    return this.#loopback?.url ?? ''
  }

  get issued(): readonly string[] {
    return this.#issued
  }

  /** Whether this `Authorization` header contains a token that was issued and not revoked. */
  accepts(authorization: string | undefined): boolean {
    return this.#valid.has(authorization?.replace(/^Bearer /, '') ?? '')
  }

  revokeAll(): void {
    this.#valid.clear()
  }

  close(): Promise<void> {
    return this.#loopback?.close() ?? Promise.resolve()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request).catch(() => '')
    this.requests.push(new URLSearchParams(body))
    if (this.#options.delayMs !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, this.#options.delayMs))
    }
    const reply = this.replies.shift()
    if (reply !== undefined) return reply(request, response, body)
    try {
      await this.#verify(request, new URLSearchParams(body))
    } catch (error) {
      const reason = (error as Error).message
      this.refusals.push(reason)
      return this.send(response, 400, { error: 'invalid_client', error_description: reason })
    }
    const token = `tok_${randomBytes(24).toString('base64url')}`
    this.#issued.push(token)
    this.#valid.add(token)
    const { expiresIn = 3_600 } = this.#options
    this.send(response, 200, { access_token: token, expires_in: expiresIn, token_type: 'Bearer' })
  }

  /** Responds with JSON and the server's own `Date`. */
  send(response: ServerResponse, status: number, body: object): void {
    response.writeHead(status, {
      'content-type': 'application/json',
      date: new Date(this.#nowMs()).toUTCString(),
    })
    response.end(JSON.stringify(body))
  }

  async #verify(request: IncomingMessage, form: URLSearchParams): Promise<void> {
    expectEqual('path', request.url, '/token')
    expectEqual('method', request.method, 'POST')
    expectEqual('content type', request.headers['content-type'], 'application/x-www-form-urlencoded')
    expectEqual('authorization header', request.headers.authorization, undefined)
    expectEqual('grant type', form.get('grant_type'), 'client_credentials')
    expectEqual('scope', form.get('scope'), this.#options.scope ?? 'tracking_api:write')
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    expectEqual('assertion type', form.get('client_assertion_type'), type)
    const { payload, protectedHeader } = await jwtVerify(form.get('client_assertion') ?? '', publicKey, {
      algorithms: ['RS256'],
      issuer: CLIENT_ID,
      subject: CLIENT_ID,
      audience: this.url,
      currentDate: new Date(this.#nowMs()),
      maxTokenAge: 60,
      requiredClaims: ['exp', 'iat', 'jti'],
    })
    expectEqual('key id', protectedHeader.kid, KEY_ID)
    const { jti, iat, exp } = payload as { jti: string; iat: number; exp: number }
    if (!Number.isInteger(iat) || !Number.isInteger(exp)) throw new Error('times must be integers')
    if (exp - iat > 60) throw new Error('valid for more than 60 s')
    if (this.#ids.has(jti)) throw new Error('jti seen before')
    this.#ids.add(jti)
    this.claims.push(payload)
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? Date.now()
  }
}

function expectEqual(what: string, got: unknown, wanted: unknown): void {
  if (got !== wanted) throw new Error(`${what}: expected ${wanted}, got ${got}`)
}
