import type { DeliveryError } from '../errors/errors.ts'

/**
 * Why an event was lost, with the properties that errors of the older libraries have. `cause` is the `DeliveryError`. The message is
 * the status text, with an `errorHandler` that of axios; without a response, it is the message of `cause`.
 */
export class CompatError extends Error {
  /** The code of the network error, such as `ECONNREFUSED`; otherwise the code of the `DeliveryError`, such as `rejected`. */
  readonly code: string
  /** The response of the service; absent when there was none. `data` is the first 1,024 bytes of the body. */
  readonly response?: { readonly status: number; readonly statusText: string; readonly data: string }

  /** Called by the client only. */
  constructor(error: DeliveryError, isAxios: boolean) {
    const { status, response: data = '' } = error
    const statusText = status === undefined ? '' : statusTextOf(error.message)
    const axiosText = `Request failed with status code ${status}`
    super(status === undefined ? error.message : isAxios ? axiosText : statusText || axiosText, {
      cause: error,
    })
    // An assignment would throw if Error.prototype is frozen.
    Object.defineProperty(this, 'name', { value: 'CompatError' })
    this.code = (error.cause as { code?: string } | undefined)?.code ?? error.code
    if (status !== undefined) this.response = Object.freeze({ status, statusText, data })
    // All events of a request that failed share it.
    Object.freeze(this)
  }
}

/** From `[503] Service Unavailable: a hint`. */
function statusTextOf(message: string): string {
  return /^\[\d+\] ([^:]*)/.exec(message)?.[1] ?? ''
}
