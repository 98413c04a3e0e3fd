import type { DeliveryError } from '../errors/errors.ts'

/**
 * Why an event was lost, with the members that users of the older libraries read. The message is that of axios if there is
 * an `errorHandler`, else the status text. `cause` is the `DeliveryError`.
 */
export class CompatError extends Error {
  /** The code of the network error, such as `ECONNREFUSED`; else the stable code of the failure, such as `rejected`. */
  readonly code: string
  /** The response of the service; absent when there was none. `data` is the first 1,024 bytes of the body. */
  readonly response?: { readonly status: number; readonly statusText: string; readonly data: string }

  /**
   * Made by the client.
   *
   * @param isAxios Whether the message is that of axios.
   */
  constructor(error: DeliveryError, isAxios: boolean) {
    const { status, response: data = '' } = error
    const statusText = status === undefined ? '' : statusTextOf(error.message)
    const axiosText = `Request failed with status code ${status}`
    super(status === undefined ? error.message : isAxios ? axiosText : statusText || axiosText, {
      cause: error,
    })
    this.name = 'CompatError'
    this.code = (error.cause as { code?: string } | undefined)?.code ?? error.code
    if (status !== undefined) this.response = { status, statusText, data }
  }
}

/** In `[503] Service Unavailable: a hint`, the status text is between the bracket and the colon. */
function statusTextOf(message: string): string {
  return /^\[\d+\] ([^:]*)/.exec(message)?.[1] ?? ''
}
