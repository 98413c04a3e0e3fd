import type { Credentials } from './credentials.ts'

/**
 * The write key as the user name of Basic credentials, with an empty password.
 *
 * @param writeKey ASCII without colon, as the settings have validated.
 * @see docs/spec.md, section 3; RFC 7617
 */
export function basicCredentials(writeKey: string): Credentials {
  const authorization = `Basic ${btoa(`${writeKey}:`)}`
  return {
    isRenewable: false,
    authorization: () => authorization,
    tryOnce: () => authorization,
    onAccepted() {},
    onUnauthorized: () => false,
    abort() {},
    close() {},
  }
}
