import { signal } from '@preact/signals'
import { parseExact } from '../../../src/json/exact-json.ts'

/** A request to the collector that did not end well; the message is for people. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  /** HTTP status; 0 when there was no response at all. */
  readonly status: number
  readonly code: string
  /** Where in a search line the problem is, in UTF-16 units. */
  readonly span: { position: number; length: number } | undefined

  constructor(message: string, status: number, code: string, span?: RequestError['span']) {
    super(message)
    this.status = status
    this.code = code
    this.span = span
  }
}

/** Whether the reader may ask: it needs the token first, or there is none and nobody may. */
export const access = signal<'open' | 'token' | 'closed'>('open')

/** The problem as the collector words it: `{ code, message, position?, length? }`, or what a proxy in front said. */
async function problemOf(response: Response): Promise<RequestError> {
  const text = await response.text().catch(() => '')
  try {
    const { code, message, position, length } = JSON.parse(text)
    if (typeof message === 'string') {
      const span = typeof position === 'number' ? { position, length: length ?? 1 } : undefined
      return new RequestError(message, response.status, code ?? '', span)
    }
  } catch {
    // Not the collector's own wording.
  }
  return new RequestError(`${response.status} ${response.statusText}`.trim(), response.status, '')
}

/**
 * Asks the collector.
 *
 * @param path Relative to the page, such as `api/stats`.
 * @throws RequestError when there is no response or it is no success; `AbortError` when `signal` fires.
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
  // Nobody has logged in, or the token is another one now: in place of the screens comes the form that asks for it.
  if (problem.code === 'admin_token') access.value = 'token'
  if (problem.code === 'admin_closed') access.value = 'closed'
  throw problem
}

/** Asks for JSON. */
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
