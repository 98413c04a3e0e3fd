import type { HTTPHeaders, HTTPResponse } from './client.ts'

/** How far a chain of causes is followed. */
const MAX_DEPTH = 5

/** What HTTP libraries put on their errors: undici `statusCode`, others `status`, or the whole `response`. */
interface StatusError {
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly statusText?: unknown
  readonly statusMessage?: unknown
  readonly headers?: unknown
  readonly body?: unknown
  readonly response?: unknown
  readonly cause?: unknown
}

/**
 * The response that an error stands for, or `undefined`. Many HTTP clients reject with every status but 2xx: those of
 * undici with `RetryAgent`, `interceptors.retry()` or `interceptors.responseError()`, and most wrappers of `fetch`.
 * An error that carries a 2xx is not understood: it may say that the response was cut off.
 */
export function carriedResponse(cause: unknown): HTTPResponse | undefined {
  let link = cause as StatusError | null | undefined
  try {
    for (let depth = 0; typeof link === 'object' && link !== null && depth < MAX_DEPTH; depth++) {
      const response = toResponse(link.response as StatusError) ?? toResponse(link)
      if (response !== undefined) return response
      link = link.cause as StatusError | undefined
    }
  } catch {
    // An object that throws when it is read stands for nothing.
  }
  return undefined
}

function toResponse(error: StatusError | null | undefined): HTTPResponse | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { body, headers } = error
  const status = error.status ?? error.statusCode
  if (!Number.isInteger(status) || (status as number) < 300 || (status as number) > 599) return undefined
  const statusText = error.statusText ?? error.statusMessage
  return {
    status: status as number,
    statusText: typeof statusText === 'string' ? statusText : '',
    ...(typeof headers === 'object' && headers !== null && { headers: headers as HTTPHeaders }),
    text: async () => (typeof body === 'string' ? body : ''),
  }
}
