import type { Clock } from '../clock.ts'
import { decoded } from '../percent-decoding.ts'

export interface LogOptions {
  isQuiet: boolean
  /** Texts that are never logged. */
  secrets: readonly (string | undefined)[]
  /** Addresses whose passwords are never logged. A text that is not an address is allowed. */
  addresses: readonly (string | undefined)[]
  clock: Clock
  stdout: (line: string) => void
  stderr: (line: string) => void
}

const FAULT_INTERVAL_MS = 10_000

/** The last logged fault of one kind, and the faults of that kind that were suppressed since then. */
interface FaultState {
  atMs: number
  suppressed: number
}

const MAX_CAUSE_CHARACTERS = 1000
/** A shorter secret would also be removed from ordinary words. */
const MIN_SECRET_CHARACTERS = 4

/** Errors go to stderr. Requests of clients are not logged, because they are in the store. */
export class Log {
  readonly #options: LogOptions
  readonly #secrets: readonly string[]
  readonly #faults = new Map<string, FaultState>()

  constructor(options: LogOptions) {
    this.#options = options
    const passwords = options.addresses.map(passwordOf)
    this.#secrets = [...options.secrets, ...passwords].flatMap(formsOf)
  }

  info(message: string): void {
    if (!this.#options.isQuiet) this.#options.stdout(`${this.#clean(message)}\n`)
  }

  /** Logs why the process ends. */
  failed(cause: unknown): void {
    this.#error(oneLine(cause))
  }

  /** Logs a fault at most once in ten seconds for each kind, so that a full disk does not fill the log too. */
  fault(what: string, cause: unknown): void {
    const nowMs = this.#options.clock.monotonic()
    const last = this.#faults.get(what)
    if (last !== undefined && nowMs - last.atMs < FAULT_INTERVAL_MS) {
      last.suppressed++
      return
    }
    this.#faults.set(what, { atMs: nowMs, suppressed: 0 })
    const suppressed = last?.suppressed ?? 0
    const more = suppressed > 0 ? ` (and ${suppressed} more)` : ''
    this.#error(`${what}: ${oneLine(cause)}${more}`)
  }

  /** @param fault The fault that is over: if it occurs again, it is logged at once. */
  recovered(message: string, fault: string): void {
    this.#faults.delete(fault)
    this.info(message)
  }

  #error(text: string): void {
    this.#options.stderr(`trackpost-collector: ${this.#clean(text)}\n`)
  }

  #clean(text: string): string {
    let clean = printable(text)
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, REDACTED)
    return withoutCredentials(clean).slice(0, MAX_CAUSE_CHARACTERS)
  }
}

const REDACTED = '[redacted]'

/** Removes credentials from a text: in addresses, in headers, and in settings whose names suggest a secret. */
export function withoutCredentials(text: string): string {
  return text
    .replace(/(\w:\/\/)\S*@/g, `$1${REDACTED}@`)
    .replace(/\b(bearer|basic)\s+[\w\-.~+/=]{6,}/gi, `$1 ${REDACTED}`)
    .replace(/\b(password|passwd|pwd|secret|token|api[-_]?key|write[-_]?key)=[^\s&;,"']+/gi, `$1=${REDACTED}`)
}

function passwordOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).password : undefined
}

/** Returns a secret as it is and percent-decoded, because passwords in addresses are percent-encoded. */
function formsOf(secret = ''): string[] {
  return [...new Set([secret, decoded(secret)])].filter((form) => form.length >= MIN_SECRET_CHARACTERS)
}

export function oneLine(cause: unknown): string {
  const error = cause as NodeJS.ErrnoException & { port?: number; address?: string }
  if (error?.code === 'EADDRINUSE') return `port ${error.port} is in use; use --port <another>`
  if (error?.code === 'EACCES' && error.port !== undefined) {
    return `port ${error.port} is not allowed to this user`
  }
  if (error?.code === 'EADDRNOTAVAIL') return `${error.address} is not an address of this machine`
  // Errors of NATS have numbers as codes.
  if (typeof error?.code === 'string' && error.code.startsWith('commander.')) {
    return printable(`${error.message.replace(/^error: |\.$/g, '')}; see trackpost-collector --help`)
  }
  return printable(cause instanceof Error ? cause.message : String(cause))
}

/** Replaces control characters, with which a caller could forge a line of the log. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}
