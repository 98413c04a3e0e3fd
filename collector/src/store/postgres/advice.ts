/** The remedy for each error code of PostgreSQL or Node.js. */
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

/** The remedy for a database that cannot be opened, after the message; empty when none is known. */
export function adviceOn(cause: unknown): string {
  const { code, message = '', errors } = cause as { code?: string; message?: string; errors?: unknown[] }
  if (message.includes('does not support SSL')) return ': turn its TLS on, or say sslmode=disable'
  const advice = ADVICE[code ?? '']
  if (advice !== undefined) return `: ${advice}`
  // A host with several addresses: one error for each.
  return Array.isArray(errors) && errors.length > 0 ? adviceOn(errors[0]) : ''
}
