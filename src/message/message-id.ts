/** The service refuses messages whose id has this many characters (code points) or more. @see docs/spec.md, section 1 */
export const MESSAGE_ID_LIMIT = 100

/** Whether the service accepts `id`: a string of 1 to 99 characters without control characters. */
export function isMessageId(id: unknown): id is string {
  if (typeof id !== 'string' || id === '') return false
  // A character has one or two UTF-16 code units.
  if (id.length >= MESSAGE_ID_LIMIT) {
    if (id.length >= 2 * MESSAGE_ID_LIMIT || [...id].length >= MESSAGE_ID_LIMIT) return false
  }
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index)
    if (code < 0x20 || code === 0x7f) return false
  }
  return true
}
