import type { Credentials } from '../auth/credentials.ts'
import type { Emitter, Listeners } from '../client/emitter.ts'
import type { AnalyticsEvents } from '../client/events.ts'
import type { Monitor } from '../client/monitor.ts'
import type { Warnings } from '../client/warnings.ts'
import type { Sender } from '../delivery/sender.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'
import type { Line } from '../line/line.ts'
import type { SpoolConnection } from '../line/spool.ts'
import type { MessageStore } from '../line/store.ts'
import type { MessageStamp } from '../message/build.ts'
import type { Scope } from '../message/scope.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { PluginHost } from '../pipeline/plugin.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Exiting } from '../runtime/exit.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Counts, FlushSummary } from './counts.ts'
import type { Owner } from './owner.ts'
import type { Batch, Service } from './service.ts'
import type { Shared } from './shared.ts'

/** A pending flush: the calls up to `upTo` that it waits for. In a list until it resolves. */
export interface Flush {
  readonly upTo: number
  /** Only events up to this place in the line: a handler that flushes does not wait for what is inside plugins. */
  readonly upToOrder: number
  /** Missing outcomes and, if `countsWork`, unfinished work of plugins. */
  open: number
  readonly countsWork: boolean
  /** Events without an outcome when the flush began. */
  readonly events: number
  delivered: number
  failed: number
  deferred: number
  /** The failures in a row when the flush began, and the number of failures after which it resolves. */
  sinceFailures: number
  readonly attempts: number
  /** The end of the turn in which it began, when its events have become due; `Infinity` before. */
  beganMs: number
  readonly isClose: boolean
  /** Whether failures of the service do not end the wait. */
  readonly isPatient: boolean
  /** When it times out, on the monotonic clock; `Infinity` without a limit. */
  readonly deadlineMs: number
  /** Resolves the flush. */
  readonly end: () => void
  /** Ends the wait before its time: a flush resolves, a close gives what is left its outcome. */
  readonly expire: () => void
}

/** A request in flight. */
export interface Request {
  readonly batch: Batch
  /** Whether it asks if a service that has failed is up again. */
  readonly isProbe: boolean
  /** Whether it is a probe that carries the oldest event, to keep the order. */
  readonly isOldest: boolean
  /** The gate's generation, and the number of accepted requests, when it was sent. */
  readonly generation: number
  readonly accepted: number
}

/** An outcome that is told at the end of the turn, because no callback may run before its call has returned. */
export interface Early {
  readonly item: Item
  readonly error: DeliveryError | undefined
}

/**
 * The state of a client. The functions of this folder work on it, each in the file of its phase, each importing only downwards:
 * `accept` → end of the turn (`turn`) → `pump` → `conclude` → `settle`; `flush` and `close` wait, and are ended by `conclude`.
 *
 * A response belongs to one of three kinds of request. Current (its `generation` is the gate's): it decides. Late, with the gate
 * shut: its failure counts as the one that is known already, and its wait may only make the gate's longer. Late, with the gate
 * open again: a request was accepted since, so it shuts the gate only if it names a wait.
 */
export interface Core {
  readonly settings: ResolvedSettings
  readonly clock: Clock
  readonly client: Emitter<AnalyticsEvents> & PluginHost
  readonly listeners: Listeners<AnalyticsEvents>
  readonly warnings: Warnings
  readonly monitor: Monitor
  readonly stamp: MessageStamp
  /** Read the settings `scope` and `disable`. Never throw. */
  readonly askScope: () => Scope | undefined
  readonly askDisabled: (() => boolean) | undefined
  /** Whether an event with a callback is sent at the end of its turn, because the platform may freeze the process. */
  readonly isCallbackUrgent: boolean

  readonly counts: Counts
  readonly line: Line
  /** Stores messages in memory, or in memory and in the spool. */
  readonly store: MessageStore
  readonly memory: Pick<MessageStore, 'put'>
  readonly spool: SpoolConnection | undefined
  readonly pipeline: Pipeline
  readonly sender: Sender
  readonly credentials: Credentials
  readonly service: Service
  /** What the clients of one `perRequest` share, and the version of it that this client has read. */
  readonly shared: Shared | undefined
  sharedVersion: number
  readonly owner: Owner
  /** Whether what is tracked is handed to the `waitUntil` of the one request that the client serves, and so is awaited. */
  readonly isHandedOver: boolean
  /** A request contains events of many callers, so the HTTP client must not run in the asynchronous context of one caller. */
  readonly asyncContext: CapturedContext
  readonly closeConnections: () => void

  /** Events whose plugin runs, or that wait for a plugin: for its load, or for a promise that its handler has returned. */
  readonly inPlugins: Set<Item>
  readonly inFlight: Set<Request>
  /** In the order of their calls. */
  readonly flushes: Flush[]
  /** Callers of `stored()`, with the events that they wait for. */
  readonly leaving: Set<{ readonly items: Set<Item>; readonly resolve: () => void }>

  /** What the end of the turn tells. Events that nobody follows, or that are too many, are only counted, by code. */
  early: Early[]
  readonly untold: Map<string, { readonly error: DeliveryError; count: number }>
  /** One error for all events that found no room, or were displaced, in this turn, because stack traces are costly. */
  fullError: DeliveryError | undefined
  displacedError: DeliveryError | undefined
  /** Each tells what is left of a list of outcomes that is being told: for the end of the process, in the midst of it. */
  readonly telling: (() => void)[]
  /** Promises that callbacks have returned and that are not settled. */
  readonly callbackWork: Set<Promise<unknown>>
  isPassScheduled: boolean
  /** Called when the pass of the turn is over. */
  afterPass: (() => void)[]
  isFlushRequested: boolean
  isTurnHandedOver: boolean
  /** Passes since the event loop has run. */
  passes: number
  cancelWatch: (() => void) | undefined

  cancelInterval: (() => void) | undefined
  wakeUp: { readonly atMs: number; readonly cancel: () => void } | undefined

  isClosed: boolean
  closing: Promise<FlushSummary> | undefined
  readonly exiting: Exiting
  /** Whether the process is kept alive for the events that wait, and how often that was in vain. */
  isExiting: boolean
  exitLosses: number
  /** Whether the events that are left get their outcome now, because the process ends. */
  isEnding: boolean
}
