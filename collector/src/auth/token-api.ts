import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../http/read-body.ts'
import { replyJson } from '../http/reply.ts'
import type { LoginLimit } from './login-limit.ts'
import { TokenError, type TokenServer } from './tokens.ts'

const MAX_FORM_BYTES = 16_384

/** `POST /token`, spec section 4; errors in the form of RFC 6749, section 5.2. */
export async function handleToken(
  tokens: TokenServer,
  loginLimit: LoginLimit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refuse = (
    status: number,
    error: string,
    description: string,
    headers: Record<string, string> = {},
  ) => {
    if (!request.complete) headers['connection'] = 'close'
    replyJson(response, status, { error, error_description: description }, headers)
  }
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') {
    return refuse(415, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded')
  }
  const address = request.socket.remoteAddress ?? ''
  const seconds = loginLimit.waitSeconds(address, '')
  if (seconds !== undefined) {
    return refuse(429, 'temporarily_unavailable', 'too many failed logins', {
      'retry-after': String(seconds),
    })
  }
  const read = await readBody(request, MAX_FORM_BYTES)
  if (read === 'aborted') return
  if ('refused' in read) return refuse(400, 'invalid_request', 'the form is too large or cannot be read')
  try {
    const token = await tokens.issue(new URLSearchParams(read.body.toString('utf8')))
    replyJson(response, 200, token, { pragma: 'no-cache' })
  } catch (cause) {
    if (!(cause instanceof TokenError)) throw cause
    if (cause.code === 'invalid_client') loginLimit.failed(address)
    refuse(cause.status, cause.code, cause.message)
  }
}
