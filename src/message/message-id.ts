/** Messages with an id of this many characters (code points) or more are refused. @see docs/spec.md, section 1 */
export const MESSAGE_ID_LIMIT = 100

/** Whether the service takes `id`: text of 1 to 99 characters, none of them a control character. */
export function isMessageId(id: unknown): id is string {
  if (typeof id !== 'string' || id === '') return false
  // A character takes one UTF-16 unit or two.
  if (id.length >= MESSAGE_ID_LIMIT) {
    if (id.length >= 2 * MESSAGE_ID_LIMIT || [...id].length >= MESSAGE_ID_LIMIT) return false
  }
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index)
    if (code < 0x20 || code === 0x7f) return false
  }
  return true
}
