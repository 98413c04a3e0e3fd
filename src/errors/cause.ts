/** How far a chain of causes is followed. */
const MAX_DEPTH = 5

/** Error codes of a connection that was lost while a request was under way on it. */
const LOST = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'ConnectionClosed'])

/**
 * Whether an open connection was lost. Unlike a refused connection, a lost one may have been idle, and closed by the
 * server just before.
 */
export function isConnectionLost(cause: unknown): boolean {
  return chain(cause).some(({ code }) => LOST.has(code))
}

/** A chain of causes in one line: their messages and codes. */
export function describeCause(cause: unknown): string {
  const parts: string[] = []
  for (const link of chain(cause)) {
    const { code } = link
    // OpenSSL ends its messages with a line break.
    const message = link.message.trim().replace(/\s*[\r\n]+\s*/g, ' ')
    // If several addresses of one name were refused, Node.js gives only a code and no message.
    const part = message === '' ? code : message.includes(code) ? message : `${message} (${code})`
    if (part !== '' && !parts.includes(part)) parts.push(part)
  }
  return parts.join(': ') || 'unknown error'
}

/**
 * A copy of a chain of causes with nothing but names, messages and codes. HTTP clients put the whole request on
 * their errors, credentials included.
 *
 * @param redact Takes secrets out of a text.
 */
export function copyCause(cause: unknown, redact: (text: string) => string): Error | undefined {
  let copy: Error | undefined
  for (const { name, message, code } of chain(cause).reverse()) {
    const error = new Error(redact(message), copy === undefined ? undefined : { cause: copy })
    const value = redact(name)
    // An assignment would throw if Error.prototype is frozen.
    Object.defineProperty(error, 'name', { value, writable: true, configurable: true })
    // The stack would show where the copy was made, which helps nobody.
    Object.defineProperty(error, 'stack', { value: `${value}: ${error.message}`, configurable: true })
    copy = code === '' ? error : Object.assign(error, { code: redact(code) })
  }
  return copy
}

interface Link {
  readonly name: string
  readonly message: string
  readonly code: string
}

function chain(cause: unknown): Link[] {
  const links: Link[] = []
  let link = cause
  while (link !== undefined && link !== null && links.length < MAX_DEPTH) {
    try {
      const { name, message, code } = link as Record<string, unknown>
      links.push({
        name: typeof name === 'string' ? name : 'Error',
        message: typeof message === 'string' ? message : typeof link === 'string' ? link : '',
        code: typeof code === 'string' ? code : '',
      })
      link = (link as { cause?: unknown }).cause
    } catch {
      break
    }
  }
  return links
}
