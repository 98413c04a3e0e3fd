import type { FaultInjector } from '../faults/injector.ts'
import { readBody } from '../http/read-body.ts'
import { replyJson } from '../http/reply.ts'
import type { Exchange } from '../http/request-notes.ts'
import { TokenError } from './assertions.ts'
import type { TokenServer } from './tokens.ts'

const MAX_FORM_BYTES = 16_384

/** Handles `POST /token`. Errors have the form of RFC 6749, section 5.2. */
export async function handleToken(
  tokens: TokenServer,
  faults: FaultInjector | undefined,
  exchange: Exchange,
): Promise<void> {
  const { request, response, notes } = exchange
  const refuse = (status: number, error: string, description: string) => {
    const headers: Record<string, string> = request.complete ? {} : { connection: 'close' }
    notes.problem = { code: error, message: description }
    replyJson(response, status, { error, error_description: description }, headers)
  }
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') {
    return refuse(415, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded')
  }
  // The form contains a credential, so only the size of the form is recorded.
  const { body, sentBytes } = await readBody(request, MAX_FORM_BYTES)
  notes.bodyBytes = sentBytes
  if (await faults?.inject(exchange, '/token', () => undefined)) return
  try {
    const token = await tokens.issue(new URLSearchParams(body.toString('utf8')))
    replyJson(response, 200, token, { pragma: 'no-cache' })
  } catch (cause) {
    if (!(cause instanceof TokenError)) throw cause
    refuse(cause.status, cause.code, cause.message)
  }
}
