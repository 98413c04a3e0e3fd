import { expect, test } from 'vitest'
import { DeliveryError } from '../../src/errors/errors.ts'
import { buildMessage, checkMessage } from '../../src/message/build.ts'
import { serialize } from '../../src/message/serialize.ts'
import { toContextEvent } from '../../src/message/wire.ts'
import { isValid, ODD_FIELDS, ODD_VALUES } from '../support/odd-values.ts'

const STAMP = { library: { name: 'trackpost', version: '0.1.0' }, metadata: { jsRuntime: 'node' } }
const FIELDS = Object.keys(ODD_FIELDS) as (keyof typeof ODD_FIELDS)[]

/** The value that the service gets; `undefined` if the event is refused. */
function sentOf(write: () => string, field: string): unknown {
  try {
    return (JSON.parse(write()) as Record<string, unknown>)[field] ?? 'sent without it'
  } catch (error) {
    if (error instanceof DeliveryError && error.code === 'invalid') return undefined
    throw error
  }
}

/** What the service must get: text, with U+FFFD for halves of surrogate pairs. */
function expected(field: keyof typeof ODD_FIELDS, value: unknown): unknown {
  if (!isValid(field, value)) return undefined
  return value === null ? expect.any(String) : Buffer.from(String(value)).toString()
}

test.each(FIELDS)(
  'B41, B42, B45, B46: 4,000 odd values as %s of a call: the valid ones are sent as they are',
  (field) => {
    const [kind, rest] = ODD_FIELDS[field]

    const sent = ODD_VALUES.map((value) => [
      value,
      sentOf(() => serialize(buildMessage(kind, { ...rest, [field]: value }, STAMP, 0)), field),
    ])

    expect(sent).toEqual(ODD_VALUES.map((value) => [value, expected(field, value)]))
  },
)

test.each(FIELDS)('4,000 odd values as %s of an event that a plugin returns: the same rule', (field) => {
  const [kind, rest] = ODD_FIELDS[field]
  const good = buildMessage(kind, { ...rest, [field]: 'good' }, STAMP, 0)

  const sent = ODD_VALUES.map((value) => [
    value,
    sentOf(() => serialize(checkMessage(kind, { ...toContextEvent(good), [field]: value } as never)), field),
  ])

  // A plugin cannot have a `messageId` made for its event.
  const isMade = (value: unknown): boolean => field === 'messageId' && value === null
  expect(sent).toEqual(ODD_VALUES.map((value) => [value, isMade(value) ? undefined : expected(field, value)]))
})
