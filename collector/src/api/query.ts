import { z } from 'zod'
import { HttpProblem } from '../http/reply.ts'
import { KINDS } from '../record.ts'
import type { EventQuery } from '../store/filter.ts'

const integer = z.coerce.number().int().min(0)
const textField = z.string().max(1000)

const filterFields = {
  status: z.enum(['accepted', 'rejected']).optional(),
  reason: textField.optional(),
  source: textField.optional(),
  type: z.enum([...KINDS, 'batch']).optional(),
  event: textField.optional(),
  name: textField.optional(),
  userId: textField.optional(),
  anonymousId: textField.optional(),
  messageId: textField.optional(),
  text: textField.optional(),
  after: integer.optional(),
  before: integer.optional(),
}

const eventsSchema = z.strictObject({
  ...filterFields,
  order: z.enum(['oldest', 'newest']).default('oldest'),
  limit: integer.min(1).max(1000).default(100),
  /** `summary` leaves the messages out. */
  view: z.enum(['full', 'summary']).default('full'),
})

const waitSchema = z.strictObject({
  ...filterFields,
  count: integer.min(1).max(1_000_000).default(1),
  timeout: integer.max(300_000).default(5000),
})

/** Drops what was not given, so that "absent" and "undefined" are one thing. */
type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

function read<T extends object>(schema: z.ZodType<T>, parameters: URLSearchParams): Given<T> {
  // An empty value means "any", which is what a form sends for a field that was left alone.
  const given = [...parameters].filter(([, value]) => value !== '')
  const result = schema.safeParse(Object.fromEntries(given))
  if (result.success) {
    const entries = Object.entries(result.data).filter(([, value]) => value !== undefined)
    return Object.fromEntries(entries) as Given<T>
  }
  const problems = result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  )
  throw new HttpProblem(400, 'bad_query', problems.join('; '))
}

/** @throws HttpProblem 400 naming every wrong parameter. */
export function readEventsQuery(parameters: URLSearchParams): EventQuery & {
  limit: number
  view: 'full' | 'summary'
} {
  return read(eventsSchema, parameters)
}

/** @throws HttpProblem 400 naming every wrong parameter. */
export function readWaitQuery(parameters: URLSearchParams) {
  return read(waitSchema, parameters)
}
