/** SQLSTATE codes of transient errors, after which the same statement may succeed. */
const TRANSIENT = /^(08|53|57P0[1-5]$|40001$|40P01$|55P03$|25006$)/
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

/** `errors` of an `AggregateError` has one error per address of the host. */
interface Failure {
  code?: string
  message?: string
  errors?: unknown[]
}

export function isTransient(cause: unknown): boolean {
  const { code, message, errors } = cause as Failure
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(isTransient)
  if (typeof code === 'string') return NETWORK.has(code) || TRANSIENT.test(code)
  return LOST.test(message ?? '')
}

const STATES: ReadonlyArray<[RegExp, string]> = [
  [/^57P/, 'the database is starting or ending'],
  [/^25006$/, 'the database only reads: it may be a standby'],
  [/^28/, 'the database refuses the login'],
  [/^53/, 'the database has no room or no connection left'],
]

export function stateOf(cause: unknown): string {
  const { code, message = '', errors } = cause as Failure
  if (Array.isArray(errors) && errors.length > 0) return stateOf(errors[0])
  const known = typeof code === 'string' ? STATES.find(([pattern]) => pattern.test(code)) : undefined
  if (known !== undefined) return known[1]
  if (typeof code === 'string' && NETWORK.has(code)) return 'the database cannot be reached'
  if (/timeout|no response/i.test(message)) return 'the database does not respond'
  return LOST.test(message) ? 'the connection to the database is cut' : 'the database cannot be written to'
}

/** SQLSTATE classes for bad data: a value of a wrong type (22), a violated constraint (23), an exceeded limit (54). */
const DATA = /^(22|23|54)/

export function isDataError(cause: unknown): boolean {
  const { code } = cause as Failure
  return typeof code === 'string' && code.length === 5 ? DATA.test(code) : cause instanceof TypeError
}

/** For a host with several addresses, the message for the first address. */
export function messageOf(cause: unknown): string {
  const { message, errors, code } = cause as Failure
  if (message) return message
  if (Array.isArray(errors) && errors.length > 0) return messageOf(errors[0])
  return code ?? String(cause)
}

const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'look at the user and the password, whose special characters are percent-encoded: # is %23',
  '28000': 'look at the user, and at pg_hba.conf of the server',
  '3D000': 'make it with CREATE DATABASE',
  '3F000': 'let an owner run GRANT USAGE, CREATE ON SCHEMA <schema> TO <user>',
  '42501': 'let an owner run GRANT USAGE, CREATE ON SCHEMA <schema> TO <user>',
  ECONNREFUSED: 'is it running there, and does it listen on this address?',
  ENOTFOUND: 'look at the host in the address',
  SELF_SIGNED_CERT_IN_CHAIN: 'name the CA: sslmode=verify-full&sslrootcert=<file>',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'name the certificate: sslmode=verify-full&sslrootcert=<file>',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'name the CA: sslmode=verify-full&sslrootcert=<file>',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'name the CA: sslmode=verify-full&sslrootcert=<file>',
}

/** Appended to the message of the error; empty when there is no advice. */
export function adviceOn(cause: unknown): string {
  const { code, message = '', errors } = cause as Failure
  if (message.includes('does not support SSL')) return ': turn its TLS on, or say sslmode=disable'
  const advice = ADVICE[code ?? '']
  if (advice !== undefined) return `: ${advice}`
  return Array.isArray(errors) && errors.length > 0 ? adviceOn(errors[0]) : ''
}
