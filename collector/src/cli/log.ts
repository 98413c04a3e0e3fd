import type { Clock } from '../clock.ts'

const FAULT_INTERVAL_MS = 10_000
const MAX_CHARACTERS = 1000
const REDACTED = '[redacted]'

/** Errors go to stderr. Requests of clients are not logged, because they are in the store. */
export class Log {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #stdout: (line: string) => void
  readonly #stderr: (line: string) => void
  /** The last time that each fault was logged, and how often it was not logged since then. */
  readonly #faults = new Map<string, { atMs: number; suppressed: number }>()

  constructor(
    clock: Pick<Clock, 'monotonic'>,
    stdout: (line: string) => void,
    stderr: (line: string) => void,
  ) {
    this.#clock = clock
    this.#stdout = stdout
    this.#stderr = stderr
  }

  info(message: string): void {
    this.#stdout(`${clean(message)}\n`)
  }

  failed(cause: unknown): void {
    this.#stderr(`trackpost-collector: ${clean(oneLine(cause))}\n`)
  }

  /** Logs a fault at most once in ten seconds for each kind, so that a full disk does not fill the log too. */
  fault(what: string, cause: unknown): void {
    const nowMs = this.#clock.monotonic()
    const last = this.#faults.get(what)
    if (last !== undefined && nowMs - last.atMs < FAULT_INTERVAL_MS) {
      last.suppressed++
      return
    }
    this.#faults.set(what, { atMs: nowMs, suppressed: 0 })
    const more = last?.suppressed ? ` (and ${last.suppressed} more)` : ''
    this.failed(`${what}: ${oneLine(cause)}${more}`)
  }
}

/** Removes credentials from a text: in addresses, in headers, and in settings whose names suggest a secret. */
function clean(text: string): string {
  return printable(text)
    .replace(/(\w:\/\/)\S*@/g, `$1${REDACTED}@`)
    .replace(/\b(bearer|basic)\s+[\w\-.~+/=]{6,}/gi, `$1 ${REDACTED}`)
    .replace(/\b(password|passwd|pwd|secret|token|api[-_]?key|write[-_]?key)=[^\s&;,"']+/gi, `$1=${REDACTED}`)
    .slice(0, MAX_CHARACTERS)
}

export function oneLine(cause: unknown): string {
  const error = cause as NodeJS.ErrnoException & { port?: number; address?: string }
  if (error?.code === 'EADDRINUSE') return `port ${error.port} is in use; use --port <another>`
  if (error?.code === 'EACCES' && error.port !== undefined)
    return `port ${error.port} is not allowed to this user`
  if (error?.code === 'EADDRNOTAVAIL') return `${error.address} is not an address of this machine`
  // Errors of NATS have numbers as codes.
  if (typeof error?.code === 'string' && error.code.startsWith('commander.')) {
    // The value of a misspelt option may be a secret.
    const said = error.message.replace(/^error: |\.$/g, '').replace(/^(unknown option '[^=']*)=.*'/s, "$1'")
    return `${said}; see trackpost-collector --help`
  }
  return cause instanceof Error ? cause.message : String(cause)
}

/** Replaces control characters, with which a caller could forge a line of the log. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}
