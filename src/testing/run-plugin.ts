import { type DeliveryError, SettingsError } from '../errors/errors.ts'
import type {
  AliasParams,
  GroupParams,
  IdentifyParams,
  Kind,
  PageParams,
  ScreenParams,
  TrackParams,
} from '../message/types.ts'
import { KINDS } from '../message/wire.ts'
import type { Context, ContextEvent } from '../pipeline/context.ts'
import type { LogEntry, Metric } from '../pipeline/notes.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import type { PluginFunction } from '../pipeline/registration.ts'
import type { TestMessage } from './messages.ts'
import { createTestClient, type TestClientSettings } from './test-client.ts'

/** The parameters of a call, together with its kind. */
export type PluginInput =
  | ({
      /** The kind of the call. */
      type: 'track'
    } & TrackParams)
  | ({
      /** The kind of the call. */
      type: 'identify'
    } & IdentifyParams)
  | ({
      /** The kind of the call. */
      type: 'page'
    } & PageParams)
  | ({
      /** The kind of the call. */
      type: 'screen'
    } & ScreenParams)
  | ({
      /** The kind of the call. */
      type: 'group'
    } & GroupParams)
  | ({
      /** The kind of the call. */
      type: 'alias'
    } & AliasParams)

/** The result of running one event through a plugin. Either `event` or `dropped` is set. */
export interface PluginRun {
  /** The event after the plugin. Absent when the event was dropped. */
  readonly event?: ContextEvent
  /** Why the event was dropped: the message of its error. Absent when the event was not dropped. */
  readonly dropped?: string
  /** The notes on the event, from `ctx.log` and `ctx.report`. */
  readonly logs: readonly LogEntry[]
  /** The measurements on the event, from `ctx.stats`. */
  readonly metrics: readonly Metric[]
  /** The first error that the plugin threw, rejected with or reported; `undefined` when there was none. */
  readonly error: unknown
  /** The messages that would have been sent, including events that the plugin itself tracked. */
  readonly messages: readonly TestMessage[]
}

/**
 * Loads a plugin into a new test client, runs one event through the plugin, waits until the plugin has finished, and unloads
 * it. Time limits and failures have the same effect as in production.
 *
 * @param settings The settings of the client, as for {@link createTestClient}.
 * @returns The result. The promise rejects only when `plugin`, `message` or `settings` are invalid.
 * @example
 * const { event, dropped } = await runPlugin(redact, { type: 'track', userId: 'ada', event: 'Signed Up' })
 */
export async function runPlugin(
  plugin: Plugin | PluginFunction,
  message: PluginInput,
  settings: TestClientSettings = {},
): Promise<PluginRun> {
  if (!KINDS.includes((message as PluginInput | null)?.type as Kind)) {
    throw new TypeError(`runPlugin: message: expected an object whose type is one of ${KINDS.join(', ')}`)
  }
  const { analytics, messages } = createTestClient(settings)
  const errors: unknown[] = []
  analytics.on('warning', ({ reason }) => errors.push(causeOf(reason)))
  await analytics.register(plugin)
  const mistake = errors.find((error) => error instanceof SettingsError)
  if (mistake !== undefined) throw mistake
  try {
    const { failure, ctx } = await outcomeOf(message, (kind, params, callback) =>
      (analytics[kind] as (params: unknown, callback: unknown) => void)(params, callback),
    )
    // A `destination`, `after` or `utility` plugin may still be running, and events that the plugin has tracked may be pending.
    await analytics.flush()
    const notes = { logs: ctx?.logs() ?? [], metrics: ctx?.toJSON().metrics ?? [], messages: [...messages] }
    if (failure !== undefined) return { ...droppedBy(failure, errors[0]), ...notes }
    return { ...(ctx !== undefined && { event: ctx.event }), ...notes, error: errors[0] }
  } finally {
    await analytics.deregister(plugin.name)
    await analytics.closeAndFlush()
  }
}

type Outcome = { failure: DeliveryError | undefined; ctx: Context | undefined }

function outcomeOf(
  { type, ...params }: PluginInput,
  call: (
    kind: Kind,
    params: object,
    callback: (failure: DeliveryError | undefined, ctx: Context | undefined) => void,
  ) => void,
): Promise<Outcome> {
  return new Promise((resolve) => {
    call(type, params, (failure, ctx) => resolve({ failure, ctx }))
  })
}

/** A cancellation is intended; any other exception is an error. */
function droppedBy(failure: DeliveryError, earlier: unknown): Pick<PluginRun, 'dropped' | 'error'> {
  const cause = causeOf(failure)
  const isMeant = (cause as { name?: unknown } | null)?.name === 'ContextCancelation'
  return {
    dropped: isMeant ? (cause as Error).message : failure.message,
    error: earlier ?? (isMeant ? undefined : cause),
  }
}

function causeOf(reason: unknown): unknown {
  const { cause } = (reason ?? {}) as { cause?: unknown }
  return cause ?? reason
}
