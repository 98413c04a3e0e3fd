import { basicAuthorization } from '../../src/auth/basic.ts'
import type { Credentials } from '../../src/auth/credentials.ts'
import { Sender } from '../../src/delivery/attempt.ts'
import { Backlog } from '../../src/delivery/backlog.ts'
import { Delivery } from '../../src/delivery/delivery.ts'
import type { EncodedBody, Encoder } from '../../src/delivery/encode.ts'
import { Envelope } from '../../src/delivery/envelope.ts'
import { SlabStore } from '../../src/delivery/slabs.ts'
import type { Holder, MessageStore } from '../../src/delivery/store.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import type { AnalyticsSettings } from '../../src/settings/schema.ts'
import { FakeClock } from './fake-clock.ts'
import { type Reply, ScriptedClient, status } from './scripted-client.ts'

export const WRITE_KEY = 'wk_Zurich_7Qm4'
const URL = 'https://api.segment.io/v1/batch'

export interface Entry extends Holder {
  readonly id: string
  readonly json: string
}

export interface Outcome {
  readonly id: string
  readonly error: DeliveryError | undefined
  readonly attempts: number
}

/** An event whose message has `bytes` bytes, or as few as it needs. */
export function createEntry(id: string, bytes = 0): Entry {
  const frame = Buffer.byteLength(JSON.stringify({ messageId: id, note: '' }))
  const note = 'x'.repeat(Math.max(0, bytes - frame))
  return { id, json: JSON.stringify({ messageId: id, note }), stored: undefined }
}

/** Encodes a body as a test wants it. */
export type Encode = (body: Uint8Array) => EncodedBody | Promise<EncodedBody>

/** An encoder that is loaded at once. By default, no service refuses its bodies. */
export function loadEncoder(encode: Encode, isRefused = (_status: number) => false): () => Promise<Encoder> {
  return async () => ({
    encode: async (body) => encode(body),
    isRefused: (_body, _batch, status) => isRefused(status),
    abort() {},
  })
}

export interface SetUp {
  settings?: Partial<AnalyticsSettings>
  replies?: Reply[]
  credentials?: Credentials
  onSettle?: (outcome: Outcome) => void
  encode?: Encode
  /** Whether a body must be sent again without being encoded. */
  isRefused?: (status: number) => boolean
  store?: MessageStore
  clock?: FakeClock
}

export function setUpDelivery({
  settings = {},
  replies = [status(200)],
  credentials,
  onSettle,
  encode,
  isRefused,
  store = new SlabStore(),
  clock = new FakeClock(),
}: SetUp = {}) {
  const client = new ScriptedClient(clock, replies)
  const resolved = resolveSettings({ writeKey: WRITE_KEY, ...settings })
  const outcomes: Outcome[] = []
  const given = credentials ?? basicAuthorization(WRITE_KEY)
  const observer = { onRequest() {}, onResponse() {}, wantsBodies: false }
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
    loadEncoder: encode === undefined ? undefined : loadEncoder(encode, isRefused),
  })
  const note = (outcome: Outcome): void => {
    outcomes.push(outcome)
    onSettle?.(outcome)
  }
  const backlog = new Backlog<Entry>({
    settings: resolved,
    store,
    displace: ({ id }) => note({ id, error: new DeliveryError('queue_full', ''), attempts: 0 }),
  })
  const delivery = new Delivery<Entry>({
    settings: resolved,
    backlog,
    maxMessagesBytes: 500_000 - envelope.bytes,
    sender,
    credentials: given,
    clock,
    outcomes: { settle: ({ id }, error, attempts) => note({ id, error, attempts }) },
  })
  /** Enqueues events with these ids; says which were taken. */
  const enqueue = (...entries: (string | Entry)[]): boolean[] =>
    entries.map((given) => {
      const entry = typeof given === 'string' ? createEntry(given) : given
      return backlog.add(entry, entry.json, false)
    })
  return { clock, client, backlog, delivery, outcomes, enqueue }
}

/** `count` ids: a1, a2, ... */
export function ids(count: number, prefix = 'a'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)
}

export const codesOf = (outcomes: Outcome[]): string[] =>
  outcomes.map(({ error }) => error?.code ?? 'delivered')
export const idsOf = (outcomes: Outcome[]): string[] => outcomes.map(({ id }) => id)
