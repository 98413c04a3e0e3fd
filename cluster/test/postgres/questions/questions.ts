import { parseSearch } from '../../../../collector/src/search/parse.ts'
import {
  EVENT_VOCABULARY,
  EVERYTHING,
  pathText,
  quoted,
  REQUEST_VOCABULARY,
  type Search,
} from '../../../../collector/src/search/syntax.ts'
import type { QueryName } from '../../../../collector/src/store/event-reader.ts'
import { ANONYMOUS, chance, DESTINATIONS, KEYS, NAMES, SOURCES, START_MS, USERS } from './material.ts'

export interface Question {
  title: string
  name: QueryName
  parameters: unknown
}

const VALUES = [
  ...[
    '5',
    '"5"',
    '5.0',
    '5.5',
    '0',
    '-1',
    '1e21',
    '1e300',
    '1e999',
    '0.1',
    '007',
    '"007"',
    '.5',
    '5e-324',
    '12345678901234567000',
  ],
  ...[
    'true',
    '"true"',
    'false',
    'null',
    '*',
    'a*',
    '""',
    'NaN',
    'zebra',
    'Zebra',
    '😀',
    'é',
    '100%',
    'a_b',
    "it's",
    '?',
    '$1',
  ],
  ...[
    '"say \\"hi\\""',
    '"back\\\\slash"',
    '"a\u0000b"',
    '"a\u0000"',
    '"\u0001"',
    'Ä*',
    '5*',
    '"\\\\u0000"',
    'x,y,5',
    '"a\u0000"*',
  ],
]
const PATHS = [...KEYS, 'absent'].map((key) => ['properties', key])
const DEEP = [
  ['properties', 'list', '0'],
  ['properties', 'total', '2', '1', 'deep'],
  ['properties', 'tag', '1'],
  ['properties', 'tag', '-1'],
  ['properties', 'ok', '0'],
  ['properties', 'ok', '-1'],
  ['properties', 'ok', '0', '0', '0', '0', '0'],
  ['traits', 'total'],
  ['context', 'library', 'name'],
  ['context', 'page', 'path'],
  ['context', 'page', 'path', '2', '1', 'deep'],
]
/** Some values of each field, most of which are in the store. */
const EVENT_VALUES: Readonly<Record<string, readonly string[]>> = {
  event: NAMES,
  name: NAMES,
  type: ['track', 'page', 'batch'],
  user: USERS,
  anonymous: ANONYMOUS,
  id: ['ada', ...ANONYMOUS],
  message: ['m5', 'm3'],
  source: SOURCES,
  status: ['accepted', 'rejected', 'good'],
  reason: ['duplicate', 'dedup_conflict', 'no_event'],
  request: ['1003', '1010', '1010.5', '1e300', '-1', 'x'],
  destination: DESTINATIONS,
  delivery: ['failed', 'pending', 'skipped', 'lost'],
  violation: ['unplanned', 'is "odd"', '100%'],
  warning: ['timestamp'],
  received: ['1700000000000', '2023-11-14T22:20:00Z', '-1000d', '9999999999999999', '-999999999d', 'soon'],
}
const REQUEST_VALUES: Readonly<Record<string, readonly string[]>> = {
  status: ['200', '400', '0', '399.5', 'x'],
  method: ['POST'],
  path: ['/v1/ö', '/v1/100%', '/v1/b'],
  code: ['invalid_json', 'too "odd"'],
  source: ['shop'],
  address: ['::1'],
  agent: ['node', 'Mozilla/5.0 (Ä)'],
  library: ['trackpost/0.1.0'],
  type: ['application/json'],
  bytes: ['1000000', '2147483648'],
  duration: ['0.125', '10', '50.5'],
  retries: ['0', '7'],
  events: ['0', '3'],
  fault: ['slow'],
  received: ['2023-11-14T22:30:00Z', '1700000100000', 'soon'],
}

/** Each value with two operators, and each field with a list, a prefix, and with any value and none. */
function terms(values: typeof EVENT_VALUES): string[] {
  const written = (value: string) => (/^[\w.:+-]+$/.test(value) ? value : quoted(value))
  const operators = ['!=', '>', '<=', '<', '>=']
  return Object.entries(values).flatMap(([field, own]) => [
    `${field}:*`,
    `-${field}:*`,
    `${field}:${own.slice(0, 2).map(written).join()}`,
    `${field}:${quoted(own[0]?.slice(0, 2) ?? '')}*`,
    ...own.flatMap((value, nth) =>
      [':', operators[nth % operators.length]].map((operator) => `${field}${operator}${written(value)}`),
    ),
  ])
}

/** The first line is empty: it finds everything. */
const WORDS = `
zebra
ZEBRA
"say \\"hi\\""
100%
100_
äöü
ÄÖÜ
istanbul
İstanbul
STRASSE
é
"a\u0000b"
"\\\\u0000"
"back\\\\slash"
duplicate
😀
_
deep
GRÖSSE
\u0001
"' OR 1=1 --"`.split('\n')
const COMBINED = `destination:Hook delivery:failed
destination:File -delivery:delivered
destination:"dest with \\"quotes\\"" delivery:failed
delivery:failed OR delivery:skipped
-(destination:Hook delivery:failed)
destination:Hook destination:File
user:ada (type:page OR properties.total:*)
user:ada OR source:web
-(user:ada OR source:web)
-(-user:ada)
type:track -user:* reason:*
properties.ok:* OR properties.total>0
-properties.total:*
properties.total!=5
-properties.total:5
event:Viewed user:ada status:accepted -delivery:failed
event:* zebra
(user:ada user:bob)
request:1003 user:ada
user:"' OR 1=1 --"`.split('\n')
const LINES = [...terms(EVENT_VALUES), ...WORDS, ...COMBINED]
const REQUEST_LINES = [
  ...terms(REQUEST_VALUES),
  ...['', 'slash', '100%', 'ÄRGER', 'ö', '"back\\\\slash"', 'odd'],
  ...['status:400 OR status:0', '-(status:200 source:shop)'],
]

function read(line: string, of = EVENT_VOCABULARY): Search {
  return line === '' ? EVERYTHING : parseSearch(line, of)
}

/** 9 values for each path take half a minute, so they are used only with `--full`. */
const VALUES_PER_PATH = process.env['TEST_FULL'] === '1' ? 9 : 2

function pathLines(): string[] {
  const below = chance(23)
  const lines: string[] = []
  const operators = [':', ':', '!=', '>', '>=', '<', '<=']
  for (const path of [...PATHS, ...DEEP]) {
    const at = pathText(path)
    lines.push(`${at}:*`, `-${at}:*`)
    for (let turn = 0; turn < VALUES_PER_PATH; turn++) {
      const value = VALUES[below(VALUES.length)] as string
      const operator = /[*]$|,/.test(value) ? ':' : operators[below(operators.length)]
      lines.push(`${at}${operator}${value}`)
    }
  }
  for (const value of VALUES) lines.push(`properties.total:${value}`, `context.page.path:${value}`)
  return lines
}

/** A line that cannot be parsed makes no query. */
function readable(line: string): Search[] {
  try {
    return [read(line)]
  } catch {
    return []
  }
}

function eventQuestions(): Question[] {
  const questions: Question[] = []
  for (const line of [...LINES, ...pathLines()]) {
    for (const search of readable(line)) {
      const all = { search, order: 'oldest', limit: 1000, isFull: false }
      questions.push({ title: `events ${line}`, name: 'events', parameters: all })
      questions.push({ title: `count ${line}`, name: 'count', parameters: { search } })
    }
  }
  const places = [
    {},
    { after: 50 },
    { before: 300 },
    { after: 50, before: 300 },
    { between: { afterSeq: 20, beforeSeq: 90 } },
  ]
  const below = chance(5)
  for (const line of [
    '',
    'user:ada',
    'type:track',
    'id:ada',
    'properties.total:*',
    '-reason:*',
    'delivery:failed',
    'zebra',
    'user:nobody',
  ]) {
    for (const place of [
      ...places,
      { fromMs: START_MS + 600_000 },
      { toMs: START_MS + 600_000 },
      { fromMs: START_MS + 1e6, toMs: START_MS + 12e5 },
    ]) {
      for (const order of ['oldest', 'newest']) {
        const limit = [1, 3, 10, 100][below(4)]
        const parameters = { search: read(line), order, limit, isFull: below(2) === 0, ...place }
        questions.push({
          title: `events ${line} ${JSON.stringify({ ...place, order, limit })}`,
          name: 'events',
          parameters,
        })
      }
      questions.push({
        title: `count ${line} ${JSON.stringify(place)}`,
        name: 'count',
        parameters: { search: read(line), ...place },
      })
    }
  }
  return questions
}

function requestQuestions(): Question[] {
  const questions: Question[] = []
  for (const line of REQUEST_LINES) {
    for (const rest of [
      { order: 'newest', limit: 1000 },
      { order: 'oldest', limit: 7 },
      { order: 'newest', limit: 5, fromMs: START_MS + 600_000 },
      { order: 'oldest', limit: 5, toMs: START_MS + 900_000, after: 30 },
    ]) {
      const search = read(line, REQUEST_VOCABULARY)
      questions.push({
        title: `requests ${line} ${JSON.stringify(rest)}`,
        name: 'requests',
        parameters: { search, ...rest },
      })
    }
  }
  for (let id = 998; id < 1165; id++)
    questions.push({ title: `request ${id}`, name: 'request', parameters: { id: String(id) } })
  return questions
}

function otherQuestions(): Question[] {
  const questions: Question[] = []
  const add = (name: QueryName, parameters: object) =>
    questions.push({ title: `${name} ${JSON.stringify(parameters)}`, name, parameters })
  for (let id = 0; id < 430; id++) add('event', { id: String(id) })
  const ranges = [
    {},
    { fromMs: START_MS },
    { toMs: START_MS + 900_000 },
    { fromMs: START_MS + 300_000, toMs: START_MS + 1_500_000 },
    { fromMs: START_MS - 1e12 },
    { fromMs: START_MS + 1e10 },
    { fromMs: START_MS + 1e6, toMs: START_MS + 1e6 },
    { fromMs: START_MS + 5, toMs: START_MS + 15 * 86_400_000 },
  ]
  for (const range of ranges) {
    for (const name of ['overview', 'catalogue', 'schemas', 'problems'] as const) add(name, range)
    for (const key of [
      'track:Order Completed',
      'Order Completed',
      'identify',
      'group',
      'alias',
      'page:',
      'track:',
      'page:Viewed',
      'nobody',
    ])
      for (const isFull of [true, false]) add('catalogueEntry', { key, isFull, ...range })
  }
  for (const q of ['', 'a', 'ADA', 'zoë', 'ZOË', '%', '_', 'anon', 'nobody', '\\', 'y'])
    add('users', { q, limit: 500 })
  for (const id of [
    'ada',
    'Ada',
    'bob',
    'zoë',
    '0',
    'anon-1',
    'anon-2',
    'ANON-1',
    'u%',
    'y'.repeat(250),
    'nobody',
    '',
    quoted('x'),
  ]) {
    add('user', { id, order: 'newest', limit: 1000 })
    add('user', { id, order: 'oldest', limit: 3 })
    add('user', { id, order: 'newest', limit: 4, after: 20, before: 200 })
  }
  add('destinations', { names: ['Hook', 'File', 'dest with "quotes"', 'nobody', 'a\u0000b'] })
  add('destinations', { names: [] })
  return questions
}

export function allQuestions(): Question[] {
  return [...eventQuestions(), ...requestQuestions(), ...otherQuestions()]
}
