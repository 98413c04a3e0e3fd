import type { IncomingMessage, ServerResponse } from 'node:http'

/** An error response, for handlers to throw. */
export class HttpProblem extends Error {
  readonly status: number
  /** Stable, for programs. The message is for people. */
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  /** Further fields of the body. */
  readonly more: object

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    more: object = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
    this.more = more
  }

  get body(): string {
    return JSON.stringify({ success: false, code: this.code, message: this.message, ...this.more })
  }
}

/** @throws HttpProblem 405 for any other method. Where `GET` is allowed, `HEAD` is too. */
export function requireMethod({ method = '' }: IncomingMessage, ...allowed: string[]): void {
  if (allowed.includes(method === 'HEAD' ? 'GET' : method)) return
  throw new HttpProblem(405, 'method', `expected ${allowed.join(' or ')}`, { allow: allowed.join(', ') })
}

export function notFound(): HttpProblem {
  return new HttpProblem(404, 'not_found', 'there is nothing at this address')
}

export function isJsonType(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const

export const JSON_TYPE = 'application/json; charset=utf-8'

export function replyJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(value)
  response.writeHead(status, { ...jsonHeaders(body), ...headers })
  response.end(body)
}

export function jsonHeaders(body: string): Record<string, string | number> {
  return { ...SECURITY_HEADERS, 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(body) }
}
