import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import { buildMessage } from '../../src/message/build.ts'
import { serialize, toMessageError } from '../../src/message/serialize.ts'
import { badInput } from './bad-input.ts'

const STAMP = { library: { name: 'trackpost', version: '0.1.0' }, metadata: { jsRuntime: 'node' } }
const CASES = badInput()
/** A number as a timestamp must be near to this. */
const NOW_MS = Date.UTC(2026, 0, 1)

/** The outcome of a call, and the JSON of its message. */
function send(argument: unknown): { outcome: string; json: string } {
  try {
    const json = serialize(buildMessage('track', argument, STAMP, NOW_MS), 32_768)
    return { outcome: 'delivered', json }
  } catch (error) {
    return { outcome: toMessageError(error).code, json: '' }
  }
}

/** The usual fields, and those of the case. Getters stay getters. */
function callWith(params: object): object {
  return Object.defineProperties({ userId: 'u', event: 'Bad' }, Object.getOwnPropertyDescriptors(params))
}

afterEach(() => {
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test.each(CASES)('$id: $name', ({ params, argument, outcomes, check, after }) => {
  const { outcome, json } = send(params === undefined ? argument : callWith(params()))

  expect(outcomes).toContain(outcome)
  if (outcome === 'delivered') expect(check?.(JSON.parse(json))).toBeUndefined()
  expect(after?.()).toBeUndefined()
})

describe('beside a value that JSON.stringify cannot write', () => {
  test.each(CASES.filter(({ isValue }) => isValue))('$id: $name', ({ params, check }) => {
    const { properties } = (params as () => { properties: object })()

    const { outcome, json } = send(callWith({ properties: { ...properties, big: 1n } }))

    expect(outcome).toBe('delivered')
    expect(check?.(JSON.parse(json))).toBeUndefined()
  })

  test('B31: a getter is read at most twice', () => {
    let reads = 0
    const properties = {
      get v() {
        return ++reads
      },
      big: 1n,
    }

    expect(send(callWith({ properties })).outcome).toBe('delivered')
    expect(reads).toBeLessThanOrEqual(2)
  })
})

/** The nightly workflow sets `PROPERTY_RUNS=25000`: 100,000 values. */
const RUNS = 4 * Number(process.env['PROPERTY_RUNS'] ?? { default: 500, rest: 500, full: 2_500 }[TIER])

test(`S24, B67: random values, ${RUNS} of them, are written as JSON.stringify writes them, or tolerantly`, () => {
  const key = fc.oneof(
    fc.string(),
    fc.constantFrom('__proto__', 'constructor', 'prototype', 'toJSON', 'then', 'length'),
  )
  const odd = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withBoxedValues: true,
    withNullPrototype: true,
    withObjectString: true,
    withTypedArray: true,
    withSparseArray: true,
    maxDepth: 4,
    key,
  })

  fc.assert(
    fc.property(odd, (value) => {
      let wanted: string | undefined
      try {
        wanted = JSON.stringify({ v: value })
      } catch {
        // JSON.stringify throws at a BigInt; the tolerant serializer does not.
      }

      const { outcome, json } = send(callWith({ properties: { v: value }, context: { v: value } }))

      if (outcome !== 'delivered') return expect(['too_large', 'unserializable']).toContain(outcome)
      expect(Buffer.byteLength(json)).toBeLessThanOrEqual(32_768)
      const { properties } = JSON.parse(json)
      if (wanted !== undefined) expect(properties).toEqual(JSON.parse(wanted))
    }),
    { numRuns: RUNS },
  )
})
