/** Describes why a request had no response. The same cause always has the same description. */
export function connectionReason(cause: unknown): string {
  const { name, code, cause: inner } = cause as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException }
  if (name === 'TimeoutError') return 'no answer in time'
  const known = inner?.code ?? code
  return typeof known === 'string' ? known : 'the connection failed'
}
