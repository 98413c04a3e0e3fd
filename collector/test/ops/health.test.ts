import { expect, test } from 'vitest'
import { Health, type HealthSource } from '../../src/ops/health.ts'
import type { PartHealth } from '../../src/part-health.ts'
import { fakeClock } from '../support.ts'

const part = (fields: Partial<PartHealth> = {}): PartHealth => ({
  part: 'store',
  isReady: true,
  reason: null,
  waiting: 0,
  ...fields,
})

function setUp(...given: Array<Partial<HealthSource>>) {
  const clock = fakeClock()
  const sources = given.map((one) => ({
    part: 'store' as const,
    isRequired: true,
    ask: async () => [part()],
    ...one,
  }))
  return { clock, health: new Health(sources, clock) }
}

test('an optional part does not make the process unready, but its state is reported', async () => {
  const unavailable = part({ isReady: false, reason: 'connection refused' })
  const { health } = setUp(
    { part: 'log', ask: async () => [part({ part: 'log' })] },
    { isRequired: false, ask: async () => [unavailable] },
  )

  expect(await health.readiness()).toEqual({
    status: 'ready',
    parts: [
      { ...part({ part: 'log' }), isRequired: true },
      { ...unavailable, isRequired: false },
    ],
  })
})

test('a part that does not respond within two seconds is not ready, and is not checked again until it responds', async () => {
  let asked = 0
  let respond = (_: PartHealth[]) => {}
  const { clock, health } = setUp({
    ask: () => {
      asked++
      return new Promise((resolve) => {
        respond = resolve
      })
    },
  })
  const silent = {
    status: 'not_ready',
    parts: [
      {
        part: 'store',
        isReady: false,
        isRequired: true,
        reason: 'the store does not respond (nothing within 2 s)',
        waiting: 0,
      },
    ],
  }

  for (let turn = 0; turn < 3; turn++) {
    const told = health.readiness()
    clock.advance(2000)
    expect(await told).toEqual(silent)
  }
  expect(asked).toBe(1)

  const told = health.readiness()
  respond([part()])
  expect((await told).status).toBe('ready')
})

test('a part whose check throws is not ready, with the reason', async () => {
  const { health } = setUp({ ask: () => Promise.reject(new Error('out of order')) })

  expect(await health.readiness()).toMatchObject({
    status: 'not_ready',
    parts: [{ reason: 'the store cannot be checked (out of order)' }],
  })
})

test('simultaneous requests share one check, and a later request checks again', async () => {
  let asked = 0
  const { clock, health } = setUp({
    ask: async () => {
      asked++
      return [part({ waiting: asked })]
    },
  })

  await Promise.all(Array.from({ length: 100 }, () => health.readiness()))
  expect(asked).toBe(1)
  clock.advance(500)
  expect((await health.readiness()).parts[0]?.waiting).toBe(2)
})

test('draining is reported at once, even if all parts are ready', async () => {
  const { health } = setUp({})
  expect((await health.readiness()).status).toBe('ready')

  health.drain()

  expect((await health.readiness()).status).toBe('draining')
})
