/** Classes of errors and errors after which the same statement may succeed. */
const PASSING = /^(08|53|57P0[1-5]$|40001$|40P01$|55P03$|25006$)/
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])
const LOST =
  /^(Connection terminated|timeout exceeded|Query read timeout|Client has encountered a connection error)/

/** Whether the connection or a passing state of the database caused the error, not the statement. */
export function isPassing(cause: unknown): boolean {
  const { code, message, errors } = cause as { code?: unknown; message?: string; errors?: unknown[] }
  // A host with several addresses: one error for each.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isPassing)
  if (typeof code === 'string') return NETWORK.has(code) || PASSING.test(code)
  return LOST.test(message ?? '')
}

/** Why PostgreSQL cannot write, by its error code. */
const STATES: ReadonlyArray<[RegExp, string]> = [
  [/^57P/, 'the database is starting or ending'],
  [/^25006$/, 'the database only reads: it may be a standby'],
  [/^28/, 'the database refuses the login'],
  [/^53/, 'the database has no room or no connection left'],
]

/** The state of the database as a plain sentence; the caller appends the message of the error. */
export function stateOf(cause: unknown): string {
  const { code, message = '', errors } = cause as { code?: unknown; message?: string; errors?: unknown[] }
  if (Array.isArray(errors) && errors.length > 0) return stateOf(errors[0])
  const known = typeof code === 'string' ? STATES.find(([pattern]) => pattern.test(code)) : undefined
  if (known !== undefined) return known[1]
  if (typeof code === 'string' && NETWORK.has(code)) return 'the database cannot be reached'
  if (/timeout|no response/i.test(message)) return 'the database does not respond'
  return LOST.test(message) ? 'the connection to the database is cut' : 'the database cannot be written to'
}
