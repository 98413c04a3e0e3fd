import { HttpProblem } from '../http/reply.ts'

/** Who sent a request to the API. */
export interface ApiCaller {
  /** The network address. */
  address: string
  /** Whether the caller may only read. */
  isReader: boolean
}

/** What a collector with `protect` refuses to everybody: to inject faults, and to delete events that cannot be restored. */
const PROTECTED = /^(?:POST \/api\/faults|DELETE \/api\/events|POST \/api\/events\/delete)$/

/**
 * Checks a request that changes something.
 *
 * @throws HttpProblem 403 if the caller may only read, or if the collector is protected; 400 for a parameter in the URL: no
 *   action has one, and `DELETE /api/events?q=...` would delete all events.
 */
export function checkAction(
  isReader: boolean,
  isProtected: boolean,
  method: string,
  { pathname, searchParams }: URL,
): void {
  if (isReader) throw new HttpProblem(403, 'read_only_token', 'this token may only read')
  if (isProtected && PROTECTED.test(`${method} ${pathname}`)) {
    throw new HttpProblem(
      403,
      'protected',
      'the collector was started with --protect: it deletes nothing and fakes no faults',
    )
  }
  const [parameter] = [...searchParams.keys()]
  if (parameter === undefined) return
  throw new HttpProblem(400, 'bad_query', `${parameter}: ${method} ${pathname} has no parameters in its URL`)
}
