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

/** Whether it is the connection or the moment that failed, not the statement. */
export function isPassing(cause: unknown): boolean {
  const { code, message, errors } = cause as { code?: unknown; message?: string; errors?: unknown[] }
  // A host with several addresses: what each of them said.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isPassing)
  if (typeof code === 'string') return NETWORK.has(code) || PASSING.test(code)
  return LOST.test(message ?? '')
}
