import * as z from 'zod'
import { HttpProblem } from '../http/reply.ts'
import { KINDS, TEXT_NAMES } from '../record.ts'
import { type EventFilter, searchOf } from '../search/filter.ts'
import { parseSearch } from '../search/parse.ts'
import { EVERYTHING, REQUEST_VOCABULARY, type Search } from '../search/syntax.ts'
import { parseTime } from '../search/time.ts'
import type { EventSearch } from '../store/queries/events.ts'

const integer = z.coerce.number().int().min(0)
const textField = z.string().max(4000)
const order = z.enum(['oldest', 'newest'])
/** A cursor, or the number of an event. */
const cursor = z.string().regex(/^\d{1,15}$/, 'expected a cursor')
const timeCursor = z.string().regex(/^(?:-?\d{1,16}\.)?\d{1,15}$/, 'expected a cursor')

const limit = integer.min(1).max(1000).default(100)
const rangeFields = textFields(['from', 'to'])
const requestFields = { ...rangeFields, q: textField.optional() }

function textFields<Name extends string>(names: readonly Name[]) {
  const fields = names.map((name) => [name, textField.optional()])
  return Object.fromEntries(fields) as Record<Name, z.ZodOptional<typeof textField>>
}

const searchFields = {
  ...rangeFields,
  q: textField.optional(),
  status: z.enum(['accepted', 'rejected', 'repeated']).optional(),
  type: z.enum([...KINDS, 'batch']).optional(),
  ...textFields(['reason', 'source', 'event', 'text', ...TEXT_NAMES]),
  after: cursor.optional(),
}

const SCHEMAS = {
  none: z.strictObject({}),
  range: z.strictObject(rangeFields),
  events: z.strictObject({
    ...searchFields,
    cursor: cursor.optional(),
    order: order.default('oldest'),
    limit,
    /** `summary` leaves out the messages of the events. */
    view: z.enum(['full', 'summary']).default('full'),
  }),
  count: z.strictObject(searchFields),
  export: z.strictObject({
    ...searchFields,
    order: order.default('oldest'),
    format: z.enum(['ndjson', 'csv']).default('ndjson'),
  }),
  exportRequests: z.strictObject({ ...requestFields, order: order.default('oldest') }),
  changes: z.strictObject(textFields(['since', 'before', 'after'])),
  wait: z.strictObject({
    ...searchFields,
    count: integer.min(1).max(1_000_000).default(1),
    timeout: integer.max(300_000).default(5000),
  }),
  requests: z.strictObject({
    ...requestFields,
    cursor: cursor.optional(),
    after: cursor.optional(),
    order: order.default('newest'),
    limit,
  }),
  users: z.strictObject({
    q: z.string().max(200).default(''),
    cursor: cursor.optional(),
    limit: integer.min(1).max(500).default(100),
  }),
  user: z.strictObject({
    by: z.enum(['receipt', 'timestamp']).default('receipt'),
    cursor: timeCursor.optional(),
    order: order.default('newest'),
    limit,
  }),
  catalogue: z.strictObject({
    ...rangeFields,
    format: z.enum(['list', 'schema']).default('list'),
  }),
} as const

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** @throws HttpProblem 400 whose message names every invalid parameter. */
export function readQuery<N extends keyof typeof SCHEMAS>(
  name: N,
  parameters: URLSearchParams,
): Given<z.output<(typeof SCHEMAS)[N]>> {
  // An empty value counts as missing: a form sends one for each field that was not filled in.
  const given = [...parameters].filter(([, value]) => value !== '')
  const result = SCHEMAS[name].safeParse(Object.fromEntries(given))
  if (result.success) {
    const entries = Object.entries(result.data).filter(([, value]) => value !== undefined)
    return Object.fromEntries(entries) as Given<z.output<(typeof SCHEMAS)[N]>>
  }
  const problems = result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  )
  throw new HttpProblem(400, 'bad_query', problems.join('; '))
}

export function readRange(
  { from, to }: { from?: string; to?: string },
  nowMs: number,
): { fromMs: number | undefined; toMs: number | undefined } {
  return { fromMs: readTime('from', from, nowMs), toMs: readTime('to', to, nowMs) }
}

function readTime(name: string, text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  const timeMs = parseTime(text, nowMs)
  if (timeMs === undefined) {
    throw new HttpProblem(
      400,
      'bad_query',
      `${name}: expected ISO-8601, milliseconds or -15m, got ${JSON.stringify(text)}`,
    )
  }
  return timeMs
}

export function readSearch(
  parameters: Given<Partial<z.output<(typeof SCHEMAS)['count']>>>,
  nowMs: number,
): EventSearch {
  const { from, to, after, ...filter } = parameters
  return {
    search: searchOf(filter as EventFilter),
    ...readRange({ ...(from && { from }), ...(to && { to }) }, nowMs),
    ...(after && { after }),
  }
}

export function readRequestSearch(q: string | undefined): Search {
  return q === undefined ? EVERYTHING : parseSearch(q, REQUEST_VOCABULARY)
}
