import { expect, test } from 'vitest'
import { PartWatch } from '../../src/ops/part-watch.ts'
import type { PartHealth } from '../../src/part-health.ts'
import { fakeClock } from '../support.ts'

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
  const over: string[] = []
  const onRecovery = (what: string, fault: string) => {
    told.push(what)
    over.push(fault)
  }
  const watch = new PartWatch({ health, clock, onFault, onRecovery })
  const settle = () => new Promise(setImmediate)
  const look = async () => {
    clock.advance(1000)
    await settle()
  }
  return { watch, health, reasons, told, over, settle, look }
}

test('an outage of the store and its end are each reported once', async () => {
  const { watch, reasons, told, over, settle, look } = watched('store')
  watch.start()
  await settle()
  reasons.set('store', 'it is silent')
  for (let turn = 0; turn < 3; turn++) await look()
  expect(watch.reason('store')).toBe('it is silent')
  reasons.clear()
  for (let turn = 0; turn < 3; turn++) await look()

  expect(told).toEqual(['the store is unavailable: it is silent', 'the store is back'])
  expect(over).toEqual(['the store is unavailable'])
  expect(watch.reason('store')).toBeNull()
})

test('for the log, and for a part that is unavailable from the start, only the recovery is reported', async () => {
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
  // The watch does not report an outage of the log, because the connection to the log reports it.
  reasons.set('log', 'cut')
  await look()
  expect(watch.reason('log')).toBe('cut')
  expect(told).toHaveLength(2)
  watch.close()
  reasons.set('store', 'closed')
  await look()
  expect(told).toHaveLength(2)
})

test('if a part was unavailable only between two checks, its recovery is reported too', async () => {
  const { watch, told, over, settle, look } = watched('log')
  watch.start()
  await settle()

  watch.note('log', 'the connection to the log is cut')
  await look()
  await look()

  expect(told).toEqual(['the log is back'])
  expect(over).toEqual(['the log is unavailable'])
})

test('a watch that is closed during a check reports nothing, and does not check again', async () => {
  const { watch, health, reasons, told, settle, look } = watched('store')
  watch.start()
  await settle()
  reasons.set('store', 'it is silent')
  const ask = health.parts
  const responses: Array<() => void> = []
  health.parts = async () => {
    await new Promise<void>((resolve) => responses.push(resolve))
    return ask()
  }
  await look()
  expect(responses).toHaveLength(1)

  watch.close()
  responses[0]?.()
  await settle()
  await look()

  expect(told).toEqual([])
  expect(responses).toHaveLength(1)
})

test('a watch that is closed between two checks does not check again', async () => {
  const { watch, health, settle, look } = watched('store')
  watch.start()
  await settle()
  let looks = 0
  const ask = health.parts
  health.parts = () => {
    looks++
    return ask()
  }
  await look()
  watch.close()
  await look()

  expect(looks).toBe(1)
})
