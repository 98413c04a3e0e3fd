import {
  AckPolicy,
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import type { LogSettings } from '../log/settings.ts'

const NANOS = 1_000_000
const MEGABYTE = 1024 ** 2
const REQUESTS_BYTES = 64 * MEGABYTE
const DEAD_BYTES = 1024 * MEGABYTE

/** How long a worker may hold a message before another worker gets it. */
export const ACK_WAIT_MS = 15_000
/** Maximum number of unacknowledged messages of all workers together. */
const MAX_ACK_PENDING = 5000
export const CONSUMER = 'workers'

export interface Names {
  events: string
  eventsSubject: string
  requests: string
  requestsSubject: string
  dead: string
  deadSubject: string
}

export function namesOf({ stream }: Pick<LogSettings, 'stream'>): Names {
  return {
    events: stream,
    eventsSubject: `${stream}.events`,
    requests: `${stream}-requests`,
    requestsSubject: `${stream}.requests`,
    dead: `${stream}-dead`,
    deadSubject: `${stream}.dead`,
  }
}

/** The code of JetStream when there are fewer servers than replicas, for example because some have not joined yet. */
const NO_SUITABLE_PEERS = 10_005

/** A stream cannot be created, or an existing stream has settings with which accepted events could be lost. */
export class UnsafeStreamError extends Error {
  override readonly name = 'UnsafeStreamError'
}

type Wanted = Partial<StreamConfig> & { name: string; subjects: string[] }

function wantedStreams(settings: LogSettings): Wanted[] {
  const { replicas, maxBytes, duplicateWindow } = settings
  const names = namesOf(settings)
  const common = { storage: StorageType.File, num_replicas: replicas }
  return [
    {
      ...common,
      name: names.events,
      subjects: [names.eventsSubject],
      // Acknowledged messages are deleted, so only waiting ones take room, and a full log refuses new ones.
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.New,
      max_bytes: maxBytes,
      duplicate_window: duplicateWindow * 1000 * NANOS,
    },
    {
      ...common,
      name: names.requests,
      subjects: [names.requestsSubject],
      retention: RetentionPolicy.Workqueue,
      // Records of requests are only shown to people: the oldest are deleted to make room.
      discard: DiscardPolicy.Old,
      max_bytes: Math.min(REQUESTS_BYTES, maxBytes),
    },
    {
      ...common,
      name: names.dead,
      subjects: [names.deadSubject],
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      max_bytes: Math.min(DEAD_BYTES, maxBytes),
      duplicate_window: duplicateWindow * 1000 * NANOS,
    },
  ]
}

/**
 * Creates missing streams, and checks the existing ones.
 *
 * @returns The harmless differences from the settings, one sentence each.
 * @throws UnsafeStreamError when a stream cannot be created, or could lose accepted events. Other errors may be temporary.
 */
export async function ensureStreams(manager: JetStreamManager, settings: LogSettings): Promise<string[]> {
  const notes: string[] = []
  for (const wanted of wantedStreams(settings)) {
    const found = await findOrAdd(manager, wanted)
    if (found === undefined) continue
    requireSafe(wanted, found)
    notes.push(...differences(wanted, found))
  }
  return notes
}

/** Returns undefined when the stream had to be created. */
async function findOrAdd(manager: JetStreamManager, wanted: Wanted): Promise<StreamConfig | undefined> {
  const found = await configOf(manager, wanted.name)
  if (found !== undefined) return found
  try {
    await manager.streams.add(wanted)
    return undefined
  } catch (cause) {
    // Another process may have created the stream in the meantime.
    const made = await configOf(manager, wanted.name)
    if (made !== undefined) return made
    const { message, code } = cause as Error & { code?: number }
    if (code === NO_SUITABLE_PEERS) {
      throw new Error(`too few servers are available for ${wanted.num_replicas} replicas (log.replicas)`, {
        cause,
      })
    }
    throw new UnsafeStreamError(
      `the stream ${wanted.name} cannot be made (${message}); look at log.maxBytes and log.replicas`,
      { cause },
    )
  }
}

async function configOf(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config
  } catch (cause) {
    const { name: kind, code } = cause as { name?: string; code?: number }
    if (kind === 'StreamNotFoundError' || code === 10_059) return undefined
    throw cause
  }
}

/** @throws UnsafeStreamError when the settings of an existing stream could cause the loss of accepted events. */
function requireSafe(wanted: Wanted, found: StreamConfig): void {
  const must = (isSo: boolean, expected: string) => {
    if (isSo) return
    throw new UnsafeStreamError(`the stream ${wanted.name} has other limits: expected ${expected}`)
  }
  must(
    wanted.subjects.every((subject) => found.subjects.includes(subject)),
    `the subject ${wanted.subjects.join(', ')}`,
  )
  must(found.retention === wanted.retention, `retention ${wanted.retention}, found ${found.retention}`)
  must(found.storage === wanted.storage, `storage ${wanted.storage}, found ${found.storage}`)
  if (wanted.discard !== DiscardPolicy.New) return
  must(found.discard === DiscardPolicy.New, `discard new, found ${found.discard}`)
  must((found.max_age ?? 0) === 0, 'no max_age: events that wait would be deleted')
  must((found.max_msgs_per_subject ?? -1) <= 0, 'no max_msgs_per_subject')
  must(!found.no_ack, 'acknowledgements, found no_ack')
}

function differences(wanted: Wanted, found: StreamConfig): string[] {
  const notes: string[] = []
  const compare = (setting: string, own: number | undefined, there: number) => {
    if (own === undefined || own === there) return
    notes.push(
      `${setting} of the stream ${wanted.name} is ${there}, not ${own}: the stream was left as it is`,
    )
  }
  compare('log.replicas', wanted.num_replicas, found.num_replicas)
  compare('log.maxBytes', wanted.max_bytes, found.max_bytes)
  if (wanted.duplicate_window !== undefined) {
    const seconds = (nanos: number) => nanos / NANOS / 1000
    compare('log.duplicateWindow', seconds(wanted.duplicate_window), seconds(found.duplicate_window))
  }
  return notes
}

/** Creates the consumer that all workers share. */
export async function ensureConsumer(manager: JetStreamManager, stream: string): Promise<void> {
  await manager.consumers.add(stream, {
    durable_name: CONSUMER,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ACK_WAIT_MS * NANOS,
    max_ack_pending: MAX_ACK_PENDING,
  })
}
