/**
 * Whether the service accepts `id`: a string of 1 to 99 characters (code points) without control characters.
 *
 * @see docs/spec.md, section 1
 */
export function isMessageId(id: unknown): id is string {
  return typeof id === 'string' && /^\P{Cc}{1,99}$/u.test(id)
}
