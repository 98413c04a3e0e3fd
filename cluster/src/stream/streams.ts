import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'

/** Used only when the stream is made: an existing one is left as it is. */
export interface StreamSettings {
  /** Servers that keep each event: 1, 3 or 5. */
  replicas: number
  /** Largest size of the events that wait, bytes. When the stream is full, fronts answer 503. */
  maxBytes: number
}

export const STREAM = 'trackpost'
export const ACCEPTED = 'trackpost.accepted'
/** Events that the tracking API did not accept: only a debugger reads them. */
export const REJECTED = 'trackpost.rejected'
/** Events that a destination refused for good. Their subjects end with the name of its consumer. */
export const DEAD_STREAM = 'trackpost-dead'

const NANOS = 1_000_000
/** How long the stream recognises an event by its `Nats-Msg-Id`. Destinations recognise older ones. */
const DUPLICATE_WINDOW_MS = 120_000
/** A worker that says nothing about an event for this long has lost it to another worker. */
export const ACK_WAIT_MS = 5000
/** Events of one destination that all its workers together may hold, with those that wait after a failure. */
const MAX_HELD_EVENTS = 10_000
const DEAD_BYTES = 1024 ** 3

const STREAM_NOT_FOUND = 10_059
const CONSUMER_NOT_FOUND = 10_014

type Wanted = Partial<StreamConfig> & { name: string; subjects: string[] }

/** Every destination has to acknowledge an event before it is deleted, and a full stream refuses new ones. */
export function eventStream({ replicas, maxBytes }: StreamSettings): Wanted {
  return {
    name: STREAM,
    subjects: [ACCEPTED, REJECTED],
    retention: RetentionPolicy.Interest,
    discard: DiscardPolicy.New,
    storage: StorageType.File,
    num_replicas: replicas,
    max_bytes: maxBytes,
    duplicate_window: DUPLICATE_WINDOW_MS * NANOS,
  }
}

export function deadStream({ replicas, maxBytes }: StreamSettings): Wanted {
  return {
    name: DEAD_STREAM,
    subjects: [`${DEAD_STREAM}.*`],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    storage: StorageType.File,
    num_replicas: replicas,
    max_bytes: Math.min(DEAD_BYTES, maxBytes),
  }
}

/**
 * Makes a stream if it is missing.
 *
 * @throws when there is no such stream and none can be made, or when an existing one could lose accepted events.
 */
export async function ensureStream(manager: JetStreamManager, wanted: Wanted): Promise<StreamInfo> {
  const found = await orMissing(manager.streams.info(wanted.name), STREAM_NOT_FOUND)
  if (found === undefined) return manager.streams.add(wanted)
  const { config } = found
  const unlike = (['retention', 'discard', 'storage'] as const).find((name) => config[name] !== wanted[name])
  if (unlike !== undefined)
    throw new Error(`the stream ${wanted.name} has ${unlike} ${config[unlike]}, not ${wanted[unlike]}`)
  if (!wanted.subjects.every((subject) => config.subjects.includes(subject)))
    throw new Error(`the stream ${wanted.name} has not the subjects ${wanted.subjects.join(', ')}`)
  if (config.max_age > 0 || config.max_msgs_per_subject > 0 || config.no_ack)
    throw new Error(
      `the stream ${wanted.name} has max_age, max_msgs_per_subject or no_ack: it could lose events`,
    )
  return found
}

/** Whether the stream keeps events for a destination: without one, it would acknowledge and forget them. */
export async function hasDestination(manager: JetStreamManager): Promise<boolean> {
  for await (const { config } of manager.consumers.list(STREAM)) if (config.durable_name) return true
  return false
}

/** Makes the consumer that all workers of a destination share, if it is missing. It stays until somebody deletes it. */
export async function ensureConsumer(
  manager: JetStreamManager,
  stream: string,
  subject: string,
  name: string,
): Promise<void> {
  if ((await orMissing(manager.consumers.info(stream, name), CONSUMER_NOT_FOUND)) !== undefined) return
  await manager.consumers.add(stream, {
    durable_name: name,
    filter_subject: subject,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: ACK_WAIT_MS * NANOS,
    max_ack_pending: MAX_HELD_EVENTS,
  })
}

async function orMissing<Result>(found: Promise<Result>, missing: number): Promise<Result | undefined> {
  try {
    return await found
  } catch (cause) {
    if ((cause as { code?: number }).code === missing || /not found/.test((cause as Error).message))
      return undefined
    throw cause
  }
}
