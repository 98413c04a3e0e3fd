import type { RequestFacts } from '../delivery/observer.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { Kind } from '../message/types.ts'

/**
 * The messages that the client publishes with `node:diagnostics_channel`, by channel. They contain no credentials. On runtimes
 * without this module, nothing is published.
 *
 * @example
 * import diagnostics_channel from 'node:diagnostics_channel'
 *
 * diagnostics_channel.channel('trackpost:response').subscribe((message) => {
 *   const { request, status, durationMs } = message as DiagnosticsMessages['trackpost:response']
 *   histogram.record(durationMs, { status, attempt: request.attempt })
 * })
 */
export interface DiagnosticsMessages {
  /** A call was accepted. */
  'trackpost:accepted': AcceptedMessage
  /** A request is about to be sent. */
  'trackpost:request': RequestMessage
  /** A request got its response, or failed without one. */
  'trackpost:response': ResponseMessage
  /** An event has its outcome. */
  'trackpost:outcome': OutcomeMessage
  /** No request is sent for a while. */
  'trackpost:pause': PauseMessage
}

/** Fields of every message on a channel. */
export interface ClientMessage {
  /** The `Analytics` object that published the message. */
  readonly client: object
}

/** Published on `trackpost:accepted`. */
export interface AcceptedMessage extends ClientMessage {
  /** The name of the call, for example `track`. */
  readonly kind: Kind
  /** The id of the event; `undefined` when the call has bad arguments. */
  readonly messageId: string | undefined
}

/** Published on `trackpost:request`. */
export interface RequestMessage extends ClientMessage {
  /** The same object as in the message about the response. */
  readonly request: RequestFacts
}

/** Published on `trackpost:response`. */
export interface ResponseMessage extends ClientMessage {
  /** The same object as in the message about the request. */
  readonly request: RequestFacts
  /** The HTTP status; `undefined` when there was no response. */
  readonly status: number | undefined
  /** Milliseconds from the request to the response headers, or to the failure. */
  readonly durationMs: number
  /** The failure, for people; `undefined` when the events were delivered. */
  readonly problem: string | undefined
}

/** Published on `trackpost:outcome`. */
export interface OutcomeMessage extends ClientMessage {
  /** The name of the call that the event came from, for example `track`. */
  readonly kind: Kind
  /** The id of the event; `undefined` when the call had bad arguments. */
  readonly messageId: string | undefined
  /** In how many requests the event was sent. */
  readonly attempts: number
  /** Why the event was not delivered; `undefined` when it was delivered. */
  readonly error: DeliveryError | undefined
}

/** Published on `trackpost:pause`. */
export interface PauseMessage extends ClientMessage {
  /** Length of the pause in milliseconds. */
  readonly waitMs: number
}
