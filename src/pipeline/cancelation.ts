/** What {@link ContextCancelation} takes. */
export interface ContextCancelationOptions {
  /** Why the event is dropped: part of the failure's message. */
  reason?: string
  /** A label of your own. */
  type?: string
  /** Without effect: what was dropped is not tried again. Taken from plugins written for other SDKs. */
  retry?: boolean
}

/**
 * Thrown by a `before` plugin to drop the event, which then fails with `plugin`. `ctx.cancel()` throws it.
 *
 * @example
 * throw new ContextCancelation({ reason: 'no consent' })
 */
export class ContextCancelation extends Error {
  /** `ContextCancelation`. */
  override readonly name = 'ContextCancelation'
  /** Why the event is dropped. */
  readonly reason: string
  /** A label of the plugin's own. Default: `plugin Error`. */
  readonly type: string
  /** Without effect. Default: false. */
  readonly retry: boolean

  /**
   * Makes a cancellation, to be thrown by a handler.
   *
   * @param options The reason as text, or an object with more than that.
   */
  constructor(options: string | ContextCancelationOptions = {}, errorOptions?: { cause?: unknown }) {
    const {
      reason = 'cancelled',
      type = 'plugin Error',
      retry = false,
    } = typeof options === 'string' ? { reason: options } : (options ?? {})
    super(reason, errorOptions)
    this.reason = reason
    this.type = type
    this.retry = retry
  }
}
