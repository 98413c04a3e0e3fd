import { signal } from '@preact/signals'
import { parseExact } from '../../../src/json/exact-json.ts'

/** A failed request to the collector; the message is for people. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  /** HTTP status; 0 when there was no response at all. */
  readonly status: number
  readonly code: string
  /** The position of the problem in a search line, in UTF-16 units. */
  readonly span: { position: number; length: number } | undefined

  constructor(message: string, status: number, code: string, span?: RequestError['span']) {
    super(message)
    this.status = status
    this.code = code
    this.span = span
  }
}

/** Whether the API is accessible: `token` if the user has to log in, `closed` if there is no token and nobody has access. */
export const access = signal<'open' | 'token' | 'closed'>('open')

/** Reads a problem of the collector, `{ code, message, position?, length? }`, or the response of a proxy in front. */
async function problemOf(response: Response): Promise<RequestError> {
  const text = await response.text().catch(() => '')
  try {
    const { code, message, position, length } = JSON.parse(text)
    if (typeof message === 'string') {
      const span = typeof position === 'number' ? { position, length: length ?? 1 } : undefined
      return new RequestError(message, response.status, code ?? '', span)
    }
  } catch {
    // The response is not from the collector.
  }
  return new RequestError(`${response.status} ${response.statusText}`.trim(), response.status, '')
}

/**
 * Sends a request to the collector.
 *
 * @param path Relative to the page, such as `api/stats`.
 * @throws RequestError when there is no response or it is not a success; `AbortError` when `signal` is aborted.
 */
export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, options)
  } catch (cause) {
    if (options.signal?.aborted) throw cause
    throw new RequestError('The collector cannot be reached.', 0, 'unreachable')
  }
  if (response.ok) return response
  const problem = await problemOf(response)
  // The user has not logged in, or the token has changed: shows the login form instead of the screens.
  if (problem.code === 'admin_token') access.value = 'token'
  if (problem.code === 'admin_closed') access.value = 'closed'
  throw problem
}

/** Requests JSON. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(path, signal === undefined ? {} : { signal })
  return parseExact(await response.text()) as T
}

/** Sends JSON and reads JSON. */
export async function sendJson<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await ask(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}
