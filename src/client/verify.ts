import type { Core } from '../core/core.ts'
import { describeCause } from '../errors/cause.ts'

/** Result of `analytics.verify()`. */
export interface Verification {
  /** Whether the service responded, with any status. */
  readonly reachable: boolean
  /**
   * Whether the service accepted the credentials: `true` for a 2xx status; `false` for 401, 403 and 511, and when there was no
   * access token; otherwise `undefined`. Some services accept every write key.
   */
  readonly authorized: boolean | undefined
  /** The HTTP status; `undefined` when there was no response. */
  readonly status: number | undefined
  /** The URL of the request. */
  readonly url: string
  /** The problem and its likely cause, without credentials; `undefined` when there is no problem. */
  readonly hint: string | undefined
}

/** Sends one request without events. Never rejects. */
export async function verify(core: Core, url: string): Promise<Verification> {
  const unasked = { reachable: false, authorized: undefined, status: undefined, url }
  if (core.isClosed) return { ...unasked, hint: 'no request was made: the client was closed' }
  if (core.settings.disable === true) return { ...unasked, hint: 'no request was made: disable is set' }
  const release = core.clock.hold()
  try {
    return await ask(core, url)
  } catch (error) {
    return { ...unasked, hint: describeCause(error) }
  } finally {
    release()
  }
}

async function ask(core: Core, url: string): Promise<Verification> {
  const { credentials, transport } = core
  const given = typeof credentials === 'string' ? credentials : await credentials.authorization()
  const [authorization, tokenProblem] =
    typeof given === 'string' ? [given, undefined] : [undefined, describeCause(given.error)]
  // The client may have been closed while the token was fetched.
  if (core.isClosed) throw new Error('the client was closed')
  const { status, problem } = await transport.verify(authorization)
  const hint = [tokenProblem, problem].filter((one) => one !== undefined).join('; ')
  return {
    reachable: status !== undefined,
    authorized: tokenProblem === undefined ? isAuthorized(status) : false,
    status,
    url,
    hint: hint === '' ? undefined : hint,
  }
}

function isAuthorized(status: number | undefined): boolean | undefined {
  if (status === undefined) return undefined
  if (status === 401 || status === 403 || status === 511) return false
  return status >= 200 && status < 300 ? true : undefined
}
