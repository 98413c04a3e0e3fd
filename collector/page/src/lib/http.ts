import { signal } from '@preact/signals'

/** The message is shown to the user. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  /** HTTP status; 0 when there was no response. */
  readonly status: number
  readonly code: string
  /** The position of a mistake in the search, in UTF-16 code units. */
  readonly span: { position: number; length: number } | undefined

  constructor(message: string, status: number, code: string, span?: RequestError['span']) {
    super(message)
    this.status = status
    this.code = code
    this.span = span
  }
}

/**
 * Whether the API can be used: `token` if the user has to log in, `closed` if the collector has no admin token and so lets
 * nobody in.
 */
export const access = signal<'open' | 'token' | 'closed'>('open')

/** Reads the error of a response: `{ code, message, position?, length? }` from the collector, anything from a proxy. */
async function problemOf(response: Response): Promise<RequestError> {
  const text = await response.text().catch(() => '')
  try {
    const { code, message, position, length } = JSON.parse(text)
    if (typeof message === 'string') {
      const span = typeof position === 'number' ? { position, length: length ?? 1 } : undefined
      return new RequestError(message, response.status, code ?? '', span)
    }
  } catch {
    // The response is from a proxy, not from the collector.
  }
  return new RequestError(`${response.status} ${response.statusText}`.trim(), response.status, '')
}

/**
 * @param path Relative to the page, such as `api/stats`.
 * @throws RequestError when there is no response or an error response; `AbortError` when `signal` is aborted.
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
  // The user has not logged in, or the token has changed. The login form replaces the screens.
  if (problem.code === 'admin_token') access.value = 'token'
  if (problem.code === 'admin_closed') access.value = 'closed'
  throw problem
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(path, signal === undefined ? {} : { signal })
  return (await response.json()) as T
}

export async function sendJson<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await ask(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}
