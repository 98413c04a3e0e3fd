import { newEvent, newRequest } from '../../../../collector/src/conformance/new-event.ts'
import { type Kind, REASONS, type Reason, WARNINGS, type Warning } from '../../../../collector/src/record.ts'
import type { EventStore } from '../../../../collector/src/store/event-store.ts'
import type { DeliveryUpdate, NewEvent } from '../../../../collector/src/store/ports.ts'

export const START_MS = 1_700_000_000_000
const EVENTS = 420
export const REQUESTS = 160

/** Values that are easily confused with others. */
const ODD: readonly unknown[] = [
  ...[
    '',
    '0',
    '5',
    '5.0',
    '007',
    'true',
    'null',
    'NaN',
    '100%',
    'a_b',
    'back\\slash',
    'say "hi"',
    "it's",
    '?',
    '$1',
  ],
  ...[
    'a\u0000b',
    'a\u0000',
    '\u0001',
    '\u0001\ufdd0',
    'p\ud800q',
    '\udc00',
    '\\u0000',
    '\\\u0000',
    '\\ud800',
    '\uffff',
  ],
  ...[
    'ÄÖÜ',
    'äöü',
    'ẞtraße',
    'İstanbul',
    '😀',
    'e\u0301',
    'é',
    '\u2028',
    ' tab\t',
    '\n',
    'Ärger',
    'zebra',
    'Zebra',
  ],
  ...[0, -1, 5, 5.5, 0.1, 1e-7, 1e21, 1e300, 5e-324, 9007199254740991, 12345678901234567000, -0.5],
  ...[true, false, null, [], {}, [1, 'x', [2, { deep: 'y' }]], { '0': 'key', '-1': 'minus', '': 'empty' }],
]
/** Keys of the properties of events. */
export const KEYS = [
  ...[
    'total',
    'a.b',
    'a"b',
    "a'b",
    '__proto__',
    'back\\slash',
    'a\u0000b',
    'k\ud800',
    '0',
    '7',
    '1000000',
    '-1',
    '$',
    '?',
  ],
  ...['😀', '*', 'Ä', 'list', 'ok', 'tag', '\\u0000'],
]
export const NAMES = [
  'Order Completed',
  'Größe gewählt',
  'Viewed',
  'order completed',
  '100% sure?',
  'a\\u0000b',
  'x'.repeat(300),
  '',
]
export const SOURCES = ['shop', 'web', 'Ümläut', '', 'a%b']
export const USERS = ['ada', 'Ada', 'bob', 'zoë', 'ZOË', '0', 'u%', 'u_', 'y'.repeat(250)]
export const ANONYMOUS = ['anon-1', 'anon-2', 'anon-3', 'ANON-1', 'ada']
const KINDS: ReadonlyArray<Kind | 'batch' | null> = [
  'track',
  'track',
  'track',
  'page',
  'screen',
  'identify',
  'group',
  'alias',
]
export const DESTINATIONS = ['Hook', 'File', 'dest with "quotes"']

/** Numbers that are the same on each run. */
export function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}

function variedEvents(): NewEvent[] {
  const below = chance(7)
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const reasons = Object.keys(REASONS) as Reason[]
  const warnings = Object.keys(WARNINGS) as Warning[]
  return Array.from({ length: EVENTS }, (_, index): NewEvent => {
    const kind = below(25) === 0 ? one(['batch', null] as const) : one(KINDS)
    const reason = index < reasons.length ? (reasons[index] as Reason) : null
    const name = kind === 'track' || kind === 'page' || kind === 'screen' ? one(NAMES) || null : null
    const userId = below(3) === 0 ? null : one(USERS)
    const anonymousId = below(2) === 0 || userId === null ? one(ANONYMOUS) : null
    const data = Object.fromEntries(Array.from({ length: 1 + below(4) }, () => [one(KEYS), one(ODD)]))
    const message = {
      type: kind,
      [kind === 'identify' || kind === 'group' ? 'traits' : 'properties']: data,
      context: { library: { name: one(['a', 'b']) }, page: { path: one(ODD) } },
      ...(below(4) === 0 && { sentAt: new Date(START_MS - below(1e7)).toISOString() }),
      ...(below(30) === 0 && { sentAt: 'soon' }),
    }
    const isDouble = below(12) === 0
    return newEvent(isDouble ? `m${below(index + 1)}` : `m${index}`, {
      source: one(SOURCES),
      reason,
      kind,
      name: kind === 'alias' ? one(ANONYMOUS) : kind === 'group' ? one(['acme', 'Acme']) : name,
      userId,
      anonymousId,
      ...(below(40) === 0 && { messageId: null }),
      // Several processes receive events, and their clocks differ.
      receivedAtMs: START_MS + index * 7000 + below(40_000) - 20_000,
      timestampMs: START_MS + index * 7000 - below(1e9) * (index % 2),
      body: reason !== null && below(3) === 0 ? null : JSON.stringify(message),
      ...(below(3) > 0 && { requestId: String(1000 + Math.floor(index / 3)) }),
      deliveries:
        reason === null && below(2) === 0
          ? DESTINATIONS.slice(below(3)).map((destination) => ({
              destination,
              ...(below(4) === 0 && { skippedBecause: one(['integrations', 'filter: "x"']) }),
            }))
          : [],
      ...(below(3) === 0 && {
        sent: { added: ['context.ip'], changed: { 'context.page': 'x' }, removed: ['writeKey'] },
      }),
      ...(below(9) === 0 && { warnings: [one(warnings)] }),
      ...(below(7) === 0 && {
        violations: [
          {
            path: 'properties.total',
            keyword: one(['type', 'unplanned', 'required']),
            message: 'is "odd" 100%',
          },
        ],
      }),
    })
  })
}

function writeRequests(store: EventStore): void {
  const below = chance(11)
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T
  for (let index = 0; index < REQUESTS; index++) {
    const status = one([200, 200, 200, 400, 401, 403, 429, 500, 0])
    const code = status < 400 ? null : one(['invalid_json', 'bad_credentials', 'too "odd"'])
    store.requests.append(
      newRequest(String(1000 + index), {
        atMs: START_MS + index * 20_000 - below(50_000),
        method: one(['POST', 'GET', 'OPTIONS']),
        path: one(['/v1/batch', '/v1/track', '/v1/ö', '/v1/100%']),
        status,
        source: one(['shop', 'web', null]),
        address: one(['127.0.0.1', '::1']),
        userAgent: one(['node', 'Mozilla/5.0 (Ä)', null]),
        library: one(['trackpost/0.1.0', null]),
        contentType: one(['application/json', 'text/plain', null]),
        contentEncoding: one(['gzip', null]),
        bodyBytes: below(3_000_000_000),
        durationMs: below(1000) / 8,
        retryCount: one([null, 0, 1, 7]),
        events: below(9),
        accepted: 0,
        problem:
          code === null
            ? null
            : { code, message: 'at "x"', ...(below(2) === 0 && { offset: 3, line: 1, column: 4 }) },
        fault: one([null, null, 'slow']),
        headers: { 'user-agent': 'node', 'x-odd': 'ä"\\' },
        body: one(['{}', '{"a":"ö', null, 'back\\slash 100%']),
        bodyIsCut: below(2) === 0,
      }),
    )
  }
}

/** Fills an empty store: every store gets the same data, in the same order. */
export async function fill(store: EventStore, advance: (ms: number) => void): Promise<void> {
  const events = variedEvents()
  for (let start = 0; start < events.length; start += 60)
    await store.log.append(events.slice(start, start + 60))
  writeRequests(store)
  for (const destination of DESTINATIONS) {
    for (let round = 0; round < 3; round++) {
      const claimed = await store.deliveries.claim(destination, 40, 1000)
      await store.deliveries.settle(
        destination,
        claimed.map(({ eventId, attempts }, index): DeliveryUpdate => {
          const result = (['delivered', 'retry', 'failed', 'delivered'] as const)[index % 4] ?? 'retry'
          return {
            eventId,
            state: result === 'retry' ? 'pending' : result,
            reason: result === 'delivered' ? null : `answered ${500 + (index % 3)}`,
            attempts: attempts + 1,
            dueAtMs: result === 'retry' ? START_MS + 1e8 + index * 1000 : 0,
            attempt: { atMs: START_MS + 1e8 + round * 10 + index, durationMs: index * 2, result },
          }
        }),
      )
      advance(2000)
    }
  }
}
