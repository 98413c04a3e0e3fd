/**
 * The `Authorization` header for a write key: the user name of Basic credentials, with an empty password.
 *
 * @param writeKey ASCII without colon, as the settings have validated.
 * @see docs/spec.md, section 3; RFC 7617
 */
export function basicAuthorization(writeKey: string): string {
  return `Basic ${btoa(`${writeKey}:`)}`
}
