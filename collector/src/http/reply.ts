import type { ServerResponse } from 'node:http'

import { stringifyExact } from '../json/exact-json.ts'

/** A response that is not a success, which a handler throws or returns. */
export class HttpProblem extends Error {
  readonly status: number
  /** Stable, for programs; the message is for people. */
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** Headers of every response. None of them allows another origin. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const

/** The content type of JSON. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Responds with a JSON value. */
export function replyJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = stringifyExact(value)
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}

/** The JSON body of a problem. */
export function problemBody(problem: Pick<HttpProblem, 'code' | 'message'>): unknown {
  return { success: false, code: problem.code, message: problem.message }
}

/** Responds with a problem. */
export function replyProblem(response: ServerResponse, problem: HttpProblem): void {
  replyJson(response, problem.status, problemBody(problem), problem.headers)
}
