import type { Credentials } from '../../src/auth/credentials.ts'
import type { EncodedBody, Encoder } from '../../src/delivery/compression.ts'
import { Delivery } from '../../src/delivery/delivery.ts'
import { Envelope } from '../../src/delivery/envelope.ts'
import type { OutageObserver } from '../../src/delivery/observer.ts'
import { Sender } from '../../src/delivery/sender.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import { createItem, type Item } from '../../src/line/item.ts'
import { Line } from '../../src/line/line.ts'
import { type MessageStore, SlabStore } from '../../src/line/store.ts'
import type { Callback } from '../../src/pipeline/context.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'
import { FakeClock } from './fake-clock.ts'
import { type Reply, ScriptedClient, status } from './scripted-client.ts'

export const WRITE_KEY = 'wk_Zurich_7Qm4'
const URL = 'https://api.segment.io/v1/batch'

/** An event that a test adds to the queue: its id, and its message as JSON. */
export interface Entry {
  readonly id: string
  readonly json: string
  readonly callback?: Callback
}

export interface Outcome {
  readonly id: string
  readonly error: DeliveryError | undefined
  readonly attempts: number
}

/** Creates an event whose message has `bytes` bytes, or the smallest possible size if `bytes` is less. */
export function createEntry(id: string, bytes = 0): Entry {
  const frame = Buffer.byteLength(JSON.stringify({ messageId: id, note: '' }))
  const note = 'x'.repeat(Math.max(0, bytes - frame))
  return { id, json: JSON.stringify({ messageId: id, note }) }
}

/** The function with which a test replaces the encoding of bodies. */
export type Encode = (body: Uint8Array) => EncodedBody | Promise<EncodedBody>

/** By default no refused body is sent again without the encoding. */
export function loadEncoder(encode: Encode, mustResend = (_status: number) => false): () => Promise<Encoder> {
  return async () => ({
    encode: async (body) => encode(body),
    mustResend: (_body, _range, status) => mustResend(status),
    abort() {},
  })
}

export interface SetUp {
  settings?: Partial<AnalyticsSettings>
  replies?: Reply[]
  credentials?: Credentials
  onSettle?: (outcome: Outcome) => void
  encode?: Encode
  /** Whether a body that got this status must be sent again without the encoding. */
  mustResend?: (status: number) => boolean
  store?: MessageStore
  clock?: FakeClock
  /** Receives the reports about outages. */
  told?: Partial<OutageObserver>
}

export function setUpDelivery({
  settings = {},
  replies = [status(200)],
  credentials,
  onSettle,
  encode,
  mustResend,
  store = new SlabStore(),
  clock = new FakeClock(),
  told = {},
}: SetUp = {}) {
  const client = new ScriptedClient(clock, replies)
  const resolved = resolveSettings({ writeKey: WRITE_KEY, ...settings })
  const outcomes: Outcome[] = []
  const given = credentials ?? `Basic ${btoa(`${WRITE_KEY}:`)}`
  const observer = {
    onStart: () => () => {},
    wantsBodies: false,
    onOutage() {},
    onRefusal() {},
    onRecovery() {},
    ...told,
  }
  const envelope = new Envelope(WRITE_KEY, store)
  const sender = new Sender({
    url: URL,
    writeKey: WRITE_KEY,
    userAgent: 'trackpost/0.1.0',
    timeoutMs: resolved.httpRequestTimeout,
    client,
    tokens: typeof given === 'string' ? undefined : given,
    envelope,
    observer,
    clock,
    loadEncoder: encode === undefined ? undefined : loadEncoder(encode, mustResend),
  })
  const note = (outcome: Outcome): void => {
    outcomes.push(outcome)
    onSettle?.(outcome)
  }
  const ids = new Map<Item, string>()
  const idOf = (item: Item): string => ids.get(item) as string
  const line = new Line({
    settings: resolved,
    store,
    displace: (item) => note({ id: idOf(item), error: new DeliveryError('queue_full', ''), attempts: 0 }),
  })
  const delivery = new Delivery({
    settings: resolved,
    line,
    maxMessagesBytes: 500_000 - envelope.bytes,
    sender,
    credentials: given,
    clock,
    observer,
    outcomes: {
      settle(item, error) {
        item.state = 'done'
        note({ id: idOf(item), error, attempts: item.attempts })
      },
    },
  })
  let calls = 0
  const makeItem = (given: string | Entry): { item: Item; json: string } => {
    const { id, json, callback } = typeof given === 'string' ? createEntry(given) : given
    const item = createItem('track', ++calls, callback)
    ids.set(item, id)
    return { item, json }
  }
  /** Returns for each event whether it was accepted. */
  const enqueue = (...entries: (string | Entry)[]): boolean[] =>
    entries.map((given) => {
      const { item, json } = makeItem(given)
      return line.add(item, json, false)
    })
  /** Adds an event to the queue as if a spool had recovered it from an earlier process. */
  const admit = (given: string | Entry): void => {
    const { item, json } = makeItem(given)
    item.stored = store.put(json)
    line.admit(item)
  }
  /** Takes up room in the queue, like an event inside an asynchronous plugin. The returned function frees the room. */
  const hold = (bytes: number): (() => void) => {
    const item = createItem('track', ++calls)
    line.enterPlugins(item, bytes)
    return () => line.leave(item)
  }
  return { clock, client, line, delivery, outcomes, enqueue, admit, hold, makeItem }
}

/** Creates `count` ids: a1, a2, ... */
export function ids(count: number, prefix = 'a'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)
}

export const codesOf = (outcomes: Outcome[]): string[] =>
  outcomes.map(({ error }) => error?.code ?? 'delivered')
export const idsOf = (outcomes: Outcome[]): string[] => outcomes.map(({ id }) => id)
