/** Why a request had no response, in the same few words each time. */
export function connectionReason(cause: unknown): string {
  const { name, code, cause: inner } = cause as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException }
  if (name === 'TimeoutError') return 'no answer in time'
  const known = inner?.code ?? code
  return typeof known === 'string' ? known : 'the connection failed'
}
