import { detectRuntime, runtimeProcess } from './detect.ts'
import { AsyncResource } from './platform.node.ts'
import type { CapturedContext } from './platform.ts'
import { escapeControls, type Warn, warn } from './warn.ts'

/**
 * Takes the lines of a log. `console` is one, and so is a logger of pino. Each method is called with fields first and the
 * message second. What it throws, or rejects with, is contained.
 */
export interface Logger {
  /** Requests and responses. */
  debug(fields: object, message: string): unknown
  /** The client holds its requests back for a while. */
  info(fields: object, message: string): unknown
  /** Something failed and cost no event, or a setting is doubtful; each kind once. `fields.code` names the kind. */
  warn(fields: object, message: string): unknown
  /** The first event lost for each reason, where neither a callback nor a listener is told. `fields.code` is the reason. */
  error(fields: object, message: string): unknown
}

/**
 * The messages of a client for the developer: its `logger` gets everything; without one, warnings and losses are process warnings.
 * With `NODE_DEBUG=trackpost` all but those also goes to stderr. Never throws, whatever the logger does.
 */
export class Log {
  /** Whether notes are read by anybody. */
  readonly isVerbose: boolean
  readonly #logger: Logger | undefined
  readonly #isDebugging = isDebugging()
  readonly #redact: (text: string) => string
  /** A logger belongs to whoever made the client, not to the request that happens to be served. */
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
  readonly warn: Warn = (code, text) => this.#tell('warn', code, text)

  /** An event was lost. */
  loss(code: string, text: string): void {
    this.#tell('error', code, text)
  }

  /** Tells of progress. Ask {@link Log.isVerbose} first where the fields are costly. */
  note(level: 'debug' | 'info', message: string, fields: object): void {
    if (this.#logger !== undefined) this.#write(level, fields, message, () => {})
    if (!this.#isDebugging) return
    try {
      console.error(`TRACKPOST ${runtimeProcess?.pid}: ${message} ${JSON.stringify(fields)}`)
    } catch {
      // A host that replaces its console by something that throws must not lose events by it.
    }
  }

  #tell(level: 'warn' | 'error', code: string, text: string): void {
    const message = escapeControls(this.#redact(text))
    const tellProcess = (): void => warn(code, message)
    if (this.#logger === undefined) tellProcess()
    // A message that the logger cannot take must not get lost.
    else this.#write(level, { code }, message, tellProcess)
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
  // Elsewhere, reading the environment may ask the user for permission.
  if (!/^(?:node|bun)$/.test(detectRuntime().jsRuntime)) return false
  try {
    const names = String(runtimeProcess?.env?.['NODE_DEBUG'] ?? '').match(/[\w*]+/g) ?? []
    return names.some((name) => new RegExp(`^${name.replace(/\*/g, '.*')}$`, 'i').test('trackpost'))
  } catch {
    return false
  }
}
