import { expect, test } from 'vitest'
import { RefusedError, writeHalving } from '../../src/destinations/destination.ts'
import { rowOf } from '../../src/destinations/row.ts'
import { newEvent } from '../support/events.ts'

test('a row keeps the message byte by byte, if the databases can store it', () => {
  const body = '{"type":"track","properties":{"text":"\\ud83d\\ude00 ü"},"x":1.50}'

  // An escaped pair of surrogates makes the message be written anew, with the same content.
  expect(JSON.parse(rowOf(newEvent('a', { body })).message)).toEqual(JSON.parse(body))
  expect(rowOf(newEvent('a', { body: '{"x":1.50}' })).message).toBe('{"x":1.50}')
})

test('times are limited to the range that ClickHouse has', () => {
  const { timestamp, received_at } = rowOf(newEvent('a', { timestampMs: -1e15, receivedAtMs: 8e15 }))

  expect([timestamp, received_at]).toEqual(['1900-01-01T00:00:00.000Z', '2299-12-31T23:59:59.999Z'])
})

test('a key of the message that is __proto__ is data', () => {
  const body = '{"properties":{"__proto__":"\\u0000"}}'

  expect(rowOf(newEvent('a', { body })).properties).toBe('{"__proto__":"\ufffd"}')
})

test('the rows that are refused are found by halving', async () => {
  const writes: number[][] = []
  const bad = new Set([5, 6, 40])
  const items = Array.from({ length: 64 }, (_, index) => index)

  const outcomes = await writeHalving(items, async (group) => {
    writes.push([...group])
    if (group.some((item) => bad.has(item))) throw new RefusedError('bad')
  })

  expect(outcomes.flatMap(({ result }, index) => (result === 'refused' ? [index] : []))).toEqual([5, 6, 40])
  expect(writes.length).toBeLessThan(32)
})

test('a failure that is not about the rows ends the attempt', async () => {
  let writes = 0
  const write = async () => {
    writes++
    throw new Error('down')
  }

  await expect(writeHalving([1, 2, 3], write)).rejects.toThrow('down')
  expect(writes).toBe(1)
})
