import { AsyncResource } from './platform.node.ts'
import type { CapturedContext } from './platform.ts'
import { escapeControls, type Warn, warn } from './warn.ts'

/**
 * Receives log messages: `console`, a logger of pino, or an object with the same methods. Each method is called with an object
 * of fields and a message. If a method throws or rejects, the error is ignored.
 */
export interface Logger {
  /** Requests and responses. */
  debug(fields: object, message: string): unknown
  /** The client pauses its requests for some time. */
  info(fields: object, message: string): unknown
  /**
   * Something failed but no event was lost, or a setting may be a mistake. Called once for each kind of failure, but for
   * every outage. `fields.code` is the code of the warning.
   */
  warn(fields: object, message: string): unknown
  /** An event without a callback was lost, and there is no `error` listener. Called once for each reason (`fields.code`). */
  error(fields: object, message: string): unknown
}

/** Without a `logger`, warnings and losses become process warnings. */
export class Log {
  readonly isVerbose: boolean
  readonly #logger: Logger | undefined
  readonly #redact: (text: string) => string
  /** The logger runs in the asynchronous context in which the client was made, and not in that of a request. */
  readonly #asyncContext: CapturedContext = { runInAsyncScope: (run) => run() }
  #hasFailed = false

  constructor(logger: Logger | undefined, redact: (text: string) => string) {
    this.#logger = logger
    this.#redact = redact
    this.isVerbose = logger !== undefined
    if (logger !== undefined) this.#asyncContext = new AsyncResource('Trackpost')
  }

  readonly warn: Warn = (code, text) => this.#emit('warn', code, text)

  loss(code: string, text: string): void {
    this.#emit('error', code, text)
  }

  note(level: 'debug' | 'info', message: string, fields: object): void {
    if (this.isVerbose) this.#write(level, fields, message, () => {})
  }

  #emit(level: 'warn' | 'error', code: string, text: string): void {
    const message = escapeControls(this.#redact(text))
    const warnProcess = (): void => warn(code, message)
    if (this.#logger === undefined) warnProcess()
    else this.#write(level, { code }, message, warnProcess)
  }

  #write(level: keyof Logger, fields: object, message: string, onFailure: () => void): void {
    const fail = (): void => {
      onFailure()
      if (this.#hasFailed) return
      this.#hasFailed = true
      // The error comes from user code and may contain secrets, so it is not shown.
      warn('user_code', 'the logger failed; the error was ignored, and further ones will be ignored silently')
    }
    try {
      const written = this.#asyncContext.runInAsyncScope(() =>
        this.#logger?.[level](fields, `trackpost: ${message}`),
      )
      if (typeof written === 'object' && written !== null) Promise.resolve(written).then(undefined, fail)
    } catch {
      fail()
    }
  }
}
