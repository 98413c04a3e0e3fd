const MAX_DEPTH = 5

const LOST = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'ConnectionClosed'])

/** Whether the server may have just closed an idle connection. A refused one does not count. */
export function isConnectionLost(cause: unknown): boolean {
  return chain(cause).some(({ code }) => LOST.has(code))
}

/** Messages and codes of an error and its causes, in one line. */
export function describeCause(cause: unknown): string {
  const parts: string[] = []
  for (const link of chain(cause)) {
    const { code } = link
    // OpenSSL ends its messages with a line break.
    const message = link.message.trim().replace(/\s*[\r\n]+\s*/g, ' ')
    // If a host name has several addresses and all refuse the connection, the error of Node.js has only a code and no message.
    const part = message === '' ? code : message.includes(code) ? message : `${message} (${code})`
    if (part !== '' && !parts.includes(part)) parts.push(part)
  }
  return parts.join(': ') || 'unknown error'
}

/** Only names, messages and codes: the errors of some HTTP clients contain the whole request with its credentials. */
export function copyCause(cause: unknown, redact: (text: string) => string): Error | undefined {
  let copy: Error | undefined
  for (const { name, message, code } of chain(cause).reverse()) {
    const error = new Error(redact(message), copy === undefined ? undefined : { cause: copy })
    const value = redact(name)
    // An assignment would throw if Error.prototype is frozen.
    Object.defineProperty(error, 'name', { value, writable: true, configurable: true })
    // The stack would only show where the copy was made.
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
