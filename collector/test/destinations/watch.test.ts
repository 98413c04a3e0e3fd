import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { newEvent } from '../../src/conformance/new-event.ts'
import { DestinationWatch } from '../../src/destinations/watch.ts'
import type { UnattendedDestination } from '../../src/store/ports.ts'
import { fakeClock } from '../support.ts'

const file = (name: string, enabled = true) => ({ name, type: 'file' as const, path: '/tmp/none', enabled })

/** The destination Own is turned on, and Off is turned off. */
function watched(isDelivering = true) {
  const clock = fakeClock()
  const faults: string[] = []
  const attended: string[][] = []
  const queue = {
    found: [] as UnattendedDestination[],
    isUnavailable: false,
    attend: async (names: readonly string[]) => {
      if (queue.isUnavailable) throw new Error('unavailable')
      attended.push([...names])
    },
    unattended: async () => {
      if (queue.isUnavailable) throw new Error('unavailable')
      return queue.found
    },
  }
  const { destinations } = parseConfig({ destinations: [file('Own'), file('Off', false)] }, 'config')
  const onFault = (what: string, cause: unknown) => void faults.push(`${what}: ${(cause as Error).message}`)
  const watch = new DestinationWatch({ destinations, isDelivering, queue, clock, onFault })
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
  const advance = async (ms: number) => {
    await settle()
    clock.advance(ms)
    await settle()
  }
  watch.start()
  return { watch, queue, faults, attended, settle, advance }
}

test('a process announces its destinations at once and then repeatedly; a process that delivers nothing announces none', async () => {
  const worker = watched()
  const front = watched(false)
  await worker.advance(20_000)
  await worker.advance(20_000)
  await front.advance(20_000)

  expect(worker.attended).toEqual([['Own'], ['Own'], ['Own']])
  expect(front.attended).toEqual([])
  worker.watch.close()
  await worker.advance(60_000)
  expect(worker.attended).toHaveLength(3)
})

test('a destination is reported once whenever no process delivers to it any more', async () => {
  const { queue, faults, settle, advance } = watched()
  queue.found = [
    { destination: 'Gone', pending: 2 },
    { destination: 'Off', pending: 3 },
    { destination: 'Own', pending: 4 },
  ]
  await settle()
  // Nothing is reported at once, so that processes that start together have time to announce their destinations.
  expect(faults).toEqual([])

  for (let look = 0; look < 3; look++) await advance(20_000)
  queue.isUnavailable = true
  await advance(20_000)
  queue.isUnavailable = false
  await advance(20_000)

  const line =
    'destination Gone: 2 deliveries are pending, and no running process delivers to it: name it in the config of a process that delivers'
  expect(faults).toEqual([line])
  queue.found = []
  await advance(20_000)
  queue.found = [{ destination: 'Gone', pending: 2 }]
  await advance(20_000)
  expect(faults).toEqual([line, line])
})

test('events of a front that does not know a destination are reported once, and cause a warning until they stop', async () => {
  const { watch, faults, advance } = watched()
  const none = new Map<string, number>()
  watch.planned([newEvent('a', { reason: 'no_event' })])
  watch.planned([newEvent('b', { deliveries: [{ destination: 'Own', skippedBecause: 'integrations' }] })])
  expect(watch.warning('Own', none)).toBeNull()

  watch.planned([newEvent('c')])
  watch.planned([newEvent('d')])

  expect(faults).toHaveLength(1)
  expect(watch.warning('Own', none)).toContain('a front that does not know it')
  expect(watch.warning('Off', none)).toBeNull()
  await advance(60_000)
  expect(watch.warning('Own', none)).toBeNull()
  // As if the first front had been corrected, and another front did not know the destination.
  watch.planned([newEvent('e')])
  expect(faults).toHaveLength(2)
  expect(watch.warning('Own', none)).not.toBeNull()
})

test('a watch that is closed during a request does nothing more', async () => {
  for (const step of ['attend', 'unattended'] as const) {
    const { watch, queue, faults, attended, settle, advance } = watched()
    await settle()
    let isHeld = false
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const done = queue[step] as (...given: unknown[]) => Promise<never>
    queue.found = [{ destination: 'Gone', pending: 1 }]
    queue[step] = async (...given: unknown[]) => {
      isHeld = true
      await held
      return done(...given)
    }
    await advance(20_000)
    expect(isHeld).toBe(true)

    watch.close()
    release()
    for (let turn = 0; turn < 3; turn++) await advance(20_000)

    expect(faults).toEqual([])
    expect(attended).toHaveLength(2)
  }
})
