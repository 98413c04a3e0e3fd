import type { Authorization } from '../auth/authorization.ts'
import type { Transport } from '../delivery/transport.ts'
import type { DeliveryError } from '../errors/errors.ts'
import type { Emitter, Listeners } from '../events/emitter.ts'
import type { AnalyticsEvents } from '../events/events.ts'
import type { Observer } from '../events/observer.ts'
import type { MessageStamp } from '../message/build.ts'
import type { Scope } from '../message/scope.ts'
import type { MessageStore } from '../message/store.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { PluginHost } from '../pipeline/plugin.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Exiting } from '../runtime/exit.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { Journal } from '../settings/journal.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Counts, FlushSummary } from './counts.ts'
import type { Item } from './item.ts'
import type { Line } from './line.ts'
import type { Owner } from './owner.ts'
import type { Gate, Service } from './service.ts'

/** Events that go out in one request. */
export interface Batch {
  items: Item[]
  /** Whether it goes out as it is: a half, or one event that has failed while the service accepted others. */
  readonly isPart: boolean
  /** How many requests had been accepted when it last failed. */
  readonly successesBefore: number | undefined
  readonly notBeforeMs: number
  /** Whether its connection was lost once, and it was tried again at once. */
  wasLost: boolean
}

/** Work of the user that is under way, and the number of the call that it belongs to. */
export type Work = Map<Promise<unknown>, number>

export interface Request {
  readonly batch: Batch
  /** Whether it asks if the service is up: it was sent while that was in doubt. */
  readonly isProbe: boolean
  /** What was known of the service when it was sent. */
  readonly epoch: number
  readonly successesBefore: number
  readonly sentMs: number
  /** When it has taken too long. */
  endMs: number
  abort(cause: Error): void
}

/** A pending flush or close. In the list until it resolves. */
export interface Flush {
  /** It waits for the calls up to this number. */
  readonly upTo: number
  /** How many of them have no outcome. */
  open: number
  readonly summary: { delivered: number; failed: number; deferred: number }
  /** When its turn was over; `Infinity` before. */
  beganMs: number
  endMs: number
  /**
   * `flush`: resolves also when the service is found to be failing. `exit`: only at its end. `close`, `handover`: what is open
   * at its end gets its outcome.
   */
  readonly kind: 'flush' | 'exit' | 'close' | 'handover'
  readonly resolve: () => void
}

/**
 * A client as data. The functions of this folder work on it, each in the file of its phase:
 * `accept` → `endTurn` → `pump` → `conclude` → `settle`; `flush` and `close` wait.
 */
export interface Core {
  readonly settings: ResolvedSettings
  readonly clock: Clock
  readonly client: Emitter<AnalyticsEvents> & PluginHost
  readonly listeners: Listeners<AnalyticsEvents>
  readonly observer: Observer
  readonly stamp: MessageStamp
  readonly askScope: () => Scope | undefined
  readonly askDisabled: (() => boolean) | undefined
  /** Whether an event with a callback is sent at the end of its turn, because the platform may freeze the process. */
  readonly isCallbackUrgent: boolean
  readonly store: MessageStore
  readonly journal: Journal | undefined
  /** Takes over more of what earlier processes have left, if there is room. */
  readonly recover: () => void
  readonly pipeline: Pipeline
  readonly transport: Transport
  readonly credentials: string | Authorization
  readonly closeConnections: () => void
  readonly owner: Owner
  /** Whether what is tracked is handed to the `waitUntil` of the one request that the client serves. */
  readonly isHandedOver: boolean
  /** A request contains events of many callers, so the HTTP client must not run in the asynchronous context of one caller. */
  readonly asyncContext: CapturedContext
  readonly counts: Counts
  readonly service: Service

  /** Where events are: in the turn, inside plugins, in the line, in parts, held, or in flight. */
  turn: Item[]
  /** What a pass has not come to yet. */
  passing: Iterable<Item>
  readonly inPlugins: Set<Item>
  readonly line: Line
  /** Batches that go out as they are. */
  parts: Batch[]
  readonly partsGate: Gate
  /** Whether the last batch was a part: with one request at a time, every second may be. */
  wasPart: boolean
  /** Batches that failed first, until it is known whether it was the service. */
  held: Batch[]
  readonly inFlight: Set<Request>

  /** Who waits. */
  readonly flushes: Set<Flush>
  readonly leaving: Set<{ readonly items: Set<Item>; readonly resolve: () => void }>
  /** Work of plugins on events that have their outcome, and promises that callbacks have returned. */
  readonly pluginWork: Work
  readonly callbackWork: Work

  isPassScheduled: boolean
  /** Called when the pass of the turn is over. */
  afterPass: (() => void)[]
  isFlushRequested: boolean
  isTurnHandedOver: boolean
  /** One error for all events of the turn that found no room, because stack traces are costly. */
  fullError: DeliveryError | undefined
  /** Events that joined the line in this pass, and are not in the journal yet. */
  unkept: Item[]
  /** Passes since the event loop has run. */
  passes: number
  cancelWatch: (() => void) | undefined

  /** When the events in the line that are not due become due. */
  intervalMs: number
  timer: { readonly atMs: number; readonly cancel: () => void } | undefined
  isClosed: boolean
  closing: Promise<FlushSummary> | undefined
  readonly exiting: Exiting
  /** Whether the process has been kept alive for what waits. */
  wasKept: boolean
  /** Whether the process ends: outcomes are only counted. */
  isEnding: boolean
}
