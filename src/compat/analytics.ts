import { Analytics } from '../analytics.ts'
import type { DeliveryError } from '../errors/errors.ts'
import { fromCaller, guard, warnOnce } from '../errors/guard.ts'
import type { ContextEvent, Kind } from '../message/types.ts'
import type { Context } from '../pipeline/context.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { CompatError } from './error.ts'
import { type RudderOptions, readOptions, toSettings } from './options.ts'

/** One event in the form of the older libraries. The required fields depend on the call, as in `Analytics`. */
export interface CompatMessage {
  /** Id of the user. This or `anonymousId` is required. */
  userId?: string | number | undefined
  /** Id of a visitor. This or `userId` is required. */
  anonymousId?: string | number | undefined
  /** `track`: the name of the event. */
  event?: string | undefined
  /** `page` and `screen`: the name of the page or screen. */
  name?: string | undefined
  /** `page` and `screen`: the category of the page or screen. */
  category?: string | undefined
  /** `group`: the id of the group. */
  groupId?: string | number | undefined
  /** `alias`: the former id. */
  previousId?: string | number | undefined
  /** `track`, `page` and `screen`: any object. */
  // biome-ignore lint/suspicious/noExplicitAny: as in @types/analytics-node
  properties?: any
  /** `identify` and `group`: any object. */
  // biome-ignore lint/suspicious/noExplicitAny: as in @types/analytics-node
  traits?: any
  /** Facts about the event. */
  // biome-ignore lint/suspicious/noExplicitAny: as in @types/analytics-node
  context?: any
  /** Destination switches. */
  integrations?: object | undefined
  /** When the event happened. Default: now. */
  timestamp?: Date | string | number | undefined
  /** RudderStack's name for `timestamp`. Default: now. */
  originalTimestamp?: Date | string | number | undefined
  /** The key for deduplication. Default: a new random id. */
  messageId?: string | undefined
}

/** The second argument of callbacks: the events, in the form of a request body of the older libraries. */
export interface CompatData {
  /** The event of the call, or, in a callback of `flush`, the flushed events. */
  batch: ContextEvent[]
  /** When this object was made. */
  timestamp: Date
  /** When this object was made. */
  sentAt: Date
}

/**
 * A callback. As in `@types/analytics-node`, its arguments are declared as required, but `error` is `undefined` when the event
 * was delivered, and both are when `enable` is `false`.
 */
export type CompatCallback = {
  // Declared as a method, because the compiler checks the parameters of methods less strictly (bivariance).
  call(error: Error, data: CompatData): unknown
}['call']

type Called = (error?: Error, data?: CompatData) => unknown

interface Call {
  error: CompatError | undefined
  event: ContextEvent | undefined
}

/**
 * A client with the API of `analytics-node` 6, or of `@rudderstack/rudder-sdk-node` 3 if `dataPlaneUrl` is given. Its events are
 * sent by an `Analytics` client. The migration guides list the differences.
 */
export class CompatAnalytics {
  /** Whether events are sent. */
  readonly enable: boolean
  /** The `errorHandler` of the options. */
  readonly errorHandler: ((error: Error) => unknown) | undefined
  /** Whether the first event, which is not batched, was sent. Set it to `true` to batch that one too. */
  flushed = false
  /** The client that sends the events. */
  readonly client: Analytics
  readonly #calls = new Set<Call>()
  /** All events of a failed batch share one error. */
  readonly #errors = new WeakMap<DeliveryError, CompatError>()
  readonly #handled = new WeakSet<DeliveryError>()

  /**
   * Makes a client.
   *
   * @throws SettingsError when the key is missing, or an option is invalid or of axios.
   */
  constructor(writeKey: string, options?: RudderOptions) {
    const given = readOptions(options)
    const isRudder = given.dataPlaneUrl !== undefined
    const settings = toSettings(writeKey, given, isRudder)
    this.enable = settings.disable !== true
    // Read-only, as in `analytics-node`: an assignment throws in ES modules and other strict-mode code.
    Object.defineProperty(this, 'enable', { writable: false })
    this.errorHandler = typeof given.errorHandler === 'function' ? given.errorHandler : undefined
    try {
      this.client = new Analytics(settings)
    } catch (error) {
      // The stack of the error starts at the line that called this constructor.
      throw fromCaller(error, new.target)
    }
    // The `errorHandler` is called for `error` events only. If callbacks called it too, it would get the same error twice.
    if (this.errorHandler !== undefined) this.client.on('error', ({ reason }) => this.#handle(reason))
    if (isRudder) void this.client.register(rudderFields)
  }

  /** Records who a user is. Like the other five calls, it throws when the message is invalid. */
  identify(message: CompatMessage, callback?: CompatCallback): this {
    return this.#submit('identify', message, callback)
  }

  /** Records an action. */
  track(message: CompatMessage, callback?: CompatCallback): this {
    return this.#submit('track', message, callback)
  }

  /** Records a page view. */
  page(message: CompatMessage, callback?: CompatCallback): this {
    return this.#submit('page', message, callback)
  }

  /** Records a screen view. */
  screen(message: CompatMessage, callback?: CompatCallback): this {
    return this.#submit('screen', message, callback)
  }

  /** Puts a user into a group. */
  group(message: CompatMessage, callback?: CompatCallback): this {
    return this.#submit('group', message, callback)
  }

  /** Ties one id to another. */
  alias(message: CompatMessage, callback?: CompatCallback): this {
    return this.#submit('alias', message, callback)
  }

  /**
   * Sends all waiting events, and resolves when every event accepted before this call has its outcome.
   *
   * @param callback Called with the first error of these events, if there is one, and with the events.
   * @returns The events; `undefined` when there was nothing to send. Rejects with the first error, unless there is an `errorHandler`; with
   * a `callback`, the rejection need not be handled.
   */
  flush(callback?: CompatCallback): Promise<CompatData> {
    const flushed = this.#flush(callback)
    if (typeof callback === 'function') flushed.catch(() => {})
    return flushed as Promise<CompatData>
  }

  async #flush(callback: CompatCallback | undefined): Promise<CompatData | undefined> {
    const calls = [...this.#calls]
    await this.client.flush()
    const call: Called = (...given) => {
      if (typeof callback !== 'function') return
      guard(
        () => (callback as Called)(...given),
        (error, verb) => warnOnce('a callback of flush', error, verb),
      )
    }
    if (!this.enable || calls.length === 0) {
      call()
      return undefined
    }
    const data = toData(calls.flatMap(({ event }) => event ?? []))
    const error = calls.find((call) => call.error !== undefined)?.error
    call(error, data)
    if (error !== undefined && this.errorHandler === undefined) throw error
    return data
  }

  #submit(kind: Kind, message: CompatMessage, callback: CompatCallback | undefined): this {
    const call: Call = { error: undefined, event: undefined }
    // Returns the promise of an asynchronous callback, so that `Analytics` handles its rejection.
    const onOutcome = (error: DeliveryError | undefined, ctx: Context | undefined): unknown => {
      this.#calls.delete(call)
      call.error = error === undefined ? undefined : this.#toCompat(error)
      call.event = ctx?.event
      // So the client logs the loss of an event that nobody hears of.
      if (typeof callback !== 'function') return onOutcome
      if (!this.enable) return (callback as Called)()
      return (callback as Called)(call.error, toData(call.event === undefined ? [] : [call.event]))
    }
    this.#calls.add(call)
    try {
      const record = this.client[kind] as (params: unknown, callback: typeof onOutcome) => void
      record(toParams(message), onOutcome)
    } catch (error) {
      this.#calls.delete(call)
      throw error
    }
    if (!this.flushed) {
      this.flushed = true
      void this.client.flush()
    }
    return this
  }

  #handle(reason: DeliveryError): unknown {
    if (this.#handled.has(reason)) return undefined
    this.#handled.add(reason)
    return this.errorHandler?.(this.#toCompat(reason))
  }

  #toCompat(reason: DeliveryError): CompatError {
    const known = this.#errors.get(reason)
    if (known !== undefined) return known
    const error = new CompatError(reason, this.errorHandler !== undefined)
    this.#errors.set(reason, error)
    return error
  }
}

/** A client with the API of `@rudderstack/rudder-sdk-node` 3: a {@link CompatAnalytics} with `dataPlaneUrl`. */
export class RudderAnalytics extends CompatAnalytics {
  /** Makes a client. Throws like the constructor of {@link CompatAnalytics}. */
  constructor(writeKey: string, options?: RudderOptions) {
    const given = readOptions(options)
    const { dataPlaneUrl, host } = given
    super(writeKey, { ...given, dataPlaneUrl: dataPlaneUrl || host || 'https://hosted.rudderlabs.com' })
  }
}

function toData(batch: ContextEvent[]): CompatData {
  const now = new Date()
  return { batch, timestamp: now, sentAt: now }
}

function toParams(message: CompatMessage): CompatMessage {
  if (typeof message !== 'object' || message === null || message.originalTimestamp === undefined)
    return message
  return { ...message, timestamp: message.originalTimestamp }
}

/** As RudderStack's own library adds them. */
const rudderFields: Plugin = {
  name: 'rudder-fields',
  type: 'before',
  all(ctx) {
    ctx.updateEvent('channel', 'server')
    ctx.updateEvent('originalTimestamp', ctx.event.timestamp)
    if (ctx.event.type === 'identify') ctx.updateEvent('context.traits', ctx.event.traits)
    return ctx
  },
}
