/** The service refuses messages whose id has this many characters (code points) or more. @see docs/spec.md, section 1 */
export const MESSAGE_ID_LIMIT = 100

const MESSAGE_ID = new RegExp(`^\\P{Cc}{1,${MESSAGE_ID_LIMIT - 1}}$`, 'u')

/** Whether the service accepts `id`: a string of 1 to 99 characters without control characters. */
export function isMessageId(id: unknown): id is string {
  return typeof id === 'string' && MESSAGE_ID.test(id)
}
