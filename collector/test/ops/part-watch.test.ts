import { expect, test } from 'vitest'
import { PartWatch } from '../../src/ops/part-watch.ts'
import type { PartHealth } from '../../src/store/health.ts'
import { fakeClock } from '../support.ts'

/** A watch over parts of our own, and what it has told. */
function watched(...parts: Array<PartHealth['part']>) {
  const clock = fakeClock()
  const reasons = new Map<string, string>()
  const told: string[] = []
  const health = {
    parts: async () =>
      parts.map((part) => {
        const reason = reasons.get(part) ?? null
        return { part, isReady: reason === null, isRequired: true, reason, waiting: 0 }
      }),
  }
  const onFault = (what: string, cause: unknown) => void told.push(`${what}: ${(cause as Error).message}`)
  const watch = new PartWatch({ health, clock, onFault, onRecovery: (what) => void told.push(what) })
  const settle = () => new Promise(setImmediate)
  const look = async () => {
    clock.advance(1000)
    await settle()
  }
  return { watch, reasons, told, settle, look }
}

test('a store that goes away and comes back is told of once each time', async () => {
  const { watch, reasons, told, settle, look } = watched('store')
  watch.start()
  await settle()
  reasons.set('store', 'it is silent')
  for (let turn = 0; turn < 3; turn++) await look()
  expect(watch.reason('store')).toBe('it is silent')
  reasons.clear()
  for (let turn = 0; turn < 3; turn++) await look()

  expect(told).toEqual(['the store is away: it is silent', 'the store is back'])
  expect(watch.reason('store')).toBeNull()
})

test('what is away from the start, and the log, are only told of when they are back', async () => {
  const { watch, reasons, told, settle, look } = watched('log', 'store')
  reasons.set('store', 'never there').set('log', 'cut')
  watch.start()
  await settle()
  await look()
  expect(told).toEqual([])
  expect(watch.reason('log')).toBe('cut')
  reasons.clear()
  await look()

  expect(told).toEqual(['the log is back', 'the store is back'])
  watch.close()
  reasons.set('store', 'closed')
  await look()
  expect(told).toHaveLength(2)
})
