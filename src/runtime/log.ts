import { detectRuntime, runtimeProcess } from './detect.ts'
import { AsyncResource } from './platform.node.ts'
import type { CapturedContext } from './platform.ts'
import { escapeControls, type Warn, warn } from './warn.ts'

/**
 * Receives log messages: `console`, a logger of pino, or an object like them. Each method is called with an object of
 * fields and a message. Errors that it throws or rejects with do no harm.
 */
export interface Logger {
  /** Requests and responses. */
  debug(fields: object, message: string): unknown
  /** The client holds its requests back for a while. */
  info(fields: object, message: string): unknown
  /** Something failed and cost no event, or a setting is doubtful. Once per kind (`fields.code`), but every outage. */
  warn(fields: object, message: string): unknown
  /** The first event lost for each reason, if no callback and no listener was told. `fields.code` is the reason. */
  error(fields: object, message: string): unknown
}

/**
 * Messages for the developer. The `logger` of a client gets all of them; without a logger, warnings and losses become
 * process warnings. With `NODE_DEBUG=trackpost` the other messages also go to stderr. Never throws, whatever the logger
 * does.
 */
export class Log {
  /** Whether anybody reads notes. */
  readonly isVerbose: boolean
  readonly #logger: Logger | undefined
  readonly #isDebugging = isDebugging()
  readonly #redact: (text: string) => string
  /** The logger runs in the asynchronous context in which the client was made, not in that of a request. */
  readonly #asyncContext: CapturedContext = { runInAsyncScope: (run) => run() }
  #hasFailed = false

  /** @param redact Takes secrets out of a text. */
  constructor(logger: Logger | undefined, redact: (text: string) => string) {
    this.#logger = logger
    this.#redact = redact
    this.isVerbose = logger !== undefined || this.#isDebugging
    if (logger !== undefined) this.#asyncContext = new AsyncResource('Trackpost')
  }

  /** Whether there is a logger. */
  get hasLogger(): boolean {
    return this.#logger !== undefined
  }

  /** Something failed that cost no event. May be detached. */
  readonly warn: Warn = (code, text) => this.#emit('warn', code, text)

  /** An event was lost. */
  loss(code: string, text: string): void {
    this.#emit('error', code, text)
  }

  /** Logs progress. Check {@link Log.isVerbose} first if the fields are costly to make. */
  note(level: 'debug' | 'info', message: string, fields: object): void {
    if (this.#logger !== undefined) this.#write(level, fields, message, () => {})
    if (!this.#isDebugging) return
    try {
      console.error(`TRACKPOST ${runtimeProcess?.pid}: ${message} ${JSON.stringify(fields)}`)
    } catch {
      // The console may be mocked and throw: that must not cost events.
    }
  }

  #emit(level: 'warn' | 'error', code: string, text: string): void {
    const message = escapeControls(this.#redact(text))
    const warnProcess = (): void => warn(code, message)
    if (this.#logger === undefined) warnProcess()
    // If the logger fails, the message becomes a process warning.
    else this.#write(level, { code }, message, warnProcess)
  }

  #write(level: keyof Logger, fields: object, message: string, onFailure: () => void): void {
    const fail = (): void => {
      onFailure()
      if (this.#hasFailed) return
      this.#hasFailed = true
      // The error comes from user code and may hold anything, so it is not shown.
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

/** Whether `NODE_DEBUG` names this library, with wildcards and in any case, as for the modules of Node.js itself. */
function isDebugging(): boolean {
  // Other runtimes may ask the user for permission to read the environment.
  if (!/^(?:node|bun)$/.test(detectRuntime().jsRuntime)) return false
  try {
    const names = String(runtimeProcess?.env?.['NODE_DEBUG'] ?? '').match(/[\w*]+/g) ?? []
    return names.some((name) => new RegExp(`^${name.replace(/\*/g, '.*')}$`, 'i').test('trackpost'))
  } catch {
    return false
  }
}
