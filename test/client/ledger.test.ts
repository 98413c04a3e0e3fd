import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type Barrier, type Epoch, Ledger } from '../../src/client/ledger.ts'
import { FAILURE_CODES } from '../../src/errors/errors.ts'

describe('the account', () => {
  test('at the start everything is zero, and every reason has its count', () => {
    const stats = new Ledger().stats()

    expect(stats).toEqual({
      accepted: 0,
      delivered: 0,
      failed: 0,
      deferred: 0,
      pending: 0,
      recovered: 0,
      failures: Object.fromEntries(FAILURE_CODES.map((code) => [code, 0])),
    })
  })

  test('each outcome is counted once, failures by reason', () => {
    const ledger = new Ledger()
    const epochs = [1, 2, 3, 4].map(() => ledger.accept())

    ledger.settle(epochs[0] as Epoch, undefined)
    ledger.settle(epochs[1] as Epoch, 'rejected')
    ledger.settle(epochs[2] as Epoch, 'rejected')

    expect(ledger.stats()).toMatchObject({ accepted: 4, delivered: 1, failed: 2, pending: 1 })
    expect(ledger.stats().failures).toMatchObject({ rejected: 2, auth: 0 })
    expect(ledger.pending).toBe(1)
  })

  test('what is deferred is no failure, and what is recovered is accepted', () => {
    const ledger = new Ledger()
    const [own, recovered] = [ledger.accept(), ledger.recover()]
    const barrier = ledger.barrier()

    ledger.settle(own, 'deferred')
    ledger.settle(recovered, undefined)

    expect(ledger.stats()).toMatchObject({
      accepted: 2,
      delivered: 1,
      failed: 0,
      deferred: 1,
      pending: 0,
      recovered: 1,
    })
    expect(barrier?.summary()).toEqual({ delivered: 1, failed: 0, pending: 0, deferred: 1 })
  })

  test('stats are those of their moment, and changing them changes nothing', () => {
    const ledger = new Ledger()
    const before = ledger.stats()

    ledger.settle(ledger.accept(), 'auth')
    ;(before.failures as Record<string, number>)['auth'] = 99

    expect(before.accepted).toBe(0)
    expect(ledger.stats().failures.auth).toBe(1)
  })
})

describe('barriers', () => {
  test('where nothing is open there is none', () => {
    const ledger = new Ledger()
    ledger.settle(ledger.accept(), undefined)

    expect(ledger.barrier()).toBeUndefined()
  })

  test('one that is reached before anybody asks tells at once', () => {
    const ledger = new Ledger()
    const epoch = ledger.accept()
    const barrier = ledger.barrier() as Barrier
    ledger.settle(epoch, undefined)
    const reached = vi.fn()

    barrier.onceReached(reached)

    expect(reached).toHaveBeenCalledTimes(1)
    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('what ends in the epoch after it is not in its summary', () => {
    const ledger = new Ledger()
    const open = ledger.accept()
    ledger.barrier()
    ledger.settle(ledger.accept(), undefined)
    ledger.settle(ledger.accept(), 'rejected')

    const second = ledger.barrier() as Barrier
    ledger.settle(ledger.accept(), undefined)
    ledger.settle(open, 'auth')

    expect(second.summary()).toEqual({ delivered: 0, failed: 1, pending: 0 })
  })

  test('one costs the same however many are open', () => {
    const ledger = new Ledger()
    /** Microseconds of a barrier in the best of some rounds: the least that the machine was disturbed. */
    const costs: number[] = []
    for (const open of [100, 20_000]) {
      while (ledger.pending < open) {
        ledger.accept()
        ledger.barrier()
      }
      let best = Number.POSITIVE_INFINITY
      for (let round = 0; round < 30; round++) {
        const startMs = performance.now()
        for (let count = 0; count < 50; count++) ledger.barrier()
        best = Math.min(best, performance.now() - startMs)
      }
      costs.push(best)
    }

    // Walking the open ones would cost 200 times as much.
    const [few, many] = costs as [number, number]
    expect(many / few).toBeLessThan(20)
  })

  test('it is reached with the last outcome of what was accepted before it', () => {
    const ledger = new Ledger()
    const epochs = [ledger.accept(), ledger.accept()] as const
    const reached = vi.fn()
    const barrier = ledger.barrier() as Barrier
    barrier.onceReached(reached)

    ledger.settle(epochs[0], undefined)
    expect(reached).not.toHaveBeenCalled()
    ledger.settle(epochs[1], 'too_large')

    expect(reached).toHaveBeenCalledTimes(1)
    expect(barrier.summary()).toEqual({ delivered: 1, failed: 1, pending: 0 })
  })

  test('what is accepted later does not hold it up and is not in its summary', () => {
    const ledger = new Ledger()
    const early = ledger.accept()
    const reached = vi.fn()
    const barrier = ledger.barrier() as Barrier
    barrier.onceReached(reached)
    const late = ledger.accept()

    ledger.settle(late, undefined)
    expect(reached).not.toHaveBeenCalled()
    ledger.settle(early, undefined)

    expect(reached).toHaveBeenCalledTimes(1)
    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('what had its outcome before it is not in its summary', () => {
    const ledger = new Ledger()
    ledger.settle(ledger.accept(), undefined)
    const epoch = ledger.accept()

    const barrier = ledger.barrier() as Barrier
    ledger.settle(epoch, undefined)

    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('before it is reached, its summary says what is open', () => {
    const ledger = new Ledger()
    const epoch = ledger.accept()
    ledger.accept()
    const barrier = ledger.barrier() as Barrier

    ledger.settle(epoch, undefined)

    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 1 })
  })

  test('two at the same point are reached together', () => {
    const ledger = new Ledger()
    const epoch = ledger.accept()
    const reached: string[] = []
    ;(ledger.barrier() as Barrier).onceReached(() => reached.push('first'))
    ;(ledger.barrier() as Barrier).onceReached(() => reached.push('second'))

    ledger.settle(epoch, undefined)

    expect(reached).toEqual(['first', 'second'])
  })

  test('a later one waits for the events of the earlier one as well', () => {
    const ledger = new Ledger()
    const reached: string[] = []
    const first = ledger.accept()
    ;(ledger.barrier() as Barrier).onceReached(() => reached.push('first'))
    const second = ledger.accept()
    const later = ledger.barrier() as Barrier
    later.onceReached(() => reached.push('second'))

    ledger.settle(second, undefined)
    expect(reached).toEqual([])
    ledger.settle(first, 'deadline')

    expect(reached).toEqual(['first', 'second'])
    expect(later.summary()).toEqual({ delivered: 1, failed: 1, pending: 0 })
  })

  test('work that outlives an outcome holds it up', () => {
    const ledger = new Ledger()
    const epoch = ledger.accept()
    ledger.beginWork(epoch)
    const reached = vi.fn()
    ;(ledger.barrier() as Barrier).onceReached(reached)

    ledger.settle(epoch, undefined)
    expect(reached).not.toHaveBeenCalled()
    ledger.endWork(epoch)

    expect(reached).toHaveBeenCalledTimes(1)
  })

  test('work alone is something to wait for', () => {
    const ledger = new Ledger()
    const epoch = ledger.accept()
    ledger.beginWork(epoch)
    ledger.settle(epoch, undefined)
    const reached = vi.fn()

    const barrier = ledger.barrier()
    barrier?.onceReached(reached)
    ledger.endWork(epoch)

    expect(barrier).toBeDefined()
    expect(reached).toHaveBeenCalledTimes(1)
  })

  test('whatever overlaps, each barrier is reached exactly when all before it is settled', () => {
    interface Model {
      barrier: Barrier
      open: Set<number>
      delivered: number
      failed: number
      runs: number
    }
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('accept' as const) },
      { weight: 4, arbitrary: fc.nat() },
      { weight: 2, arbitrary: fc.constant('flush' as const) },
    )

    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const ledger = new Ledger()
        const open = new Map<number, Epoch>()
        const flushes: Model[] = []
        let id = 0
        const settle = (chosen: number): void => {
          const ids = [...open.keys()]
          const settled = ids[chosen % ids.length] as number
          const isDelivered = chosen % 3 !== 0
          for (const flush of flushes) {
            if (!flush.open.delete(settled)) continue
            if (isDelivered) flush.delivered++
            else flush.failed++
          }
          ledger.settle(open.get(settled) as Epoch, isDelivered ? undefined : 'rejected')
          open.delete(settled)
        }
        const flush = (): void => {
          const barrier = ledger.barrier()
          expect(barrier === undefined).toBe(open.size === 0)
          if (barrier === undefined) return
          const model: Model = { barrier, open: new Set(open.keys()), delivered: 0, failed: 0, runs: 0 }
          flushes.push(model)
          barrier.onceReached(() => {
            model.runs++
            expect(model.open.size).toBe(0)
          })
        }

        for (const what of steps) {
          if (what === 'accept') open.set(id++, ledger.accept())
          else if (what === 'flush') flush()
          else if (open.size > 0) settle(what)

          expect(ledger.pending).toBe(open.size)
          for (const { barrier, open, delivered, failed, runs } of flushes) {
            expect(runs).toBe(open.size === 0 ? 1 : 0)
            expect(barrier.summary()).toEqual({ delivered, failed, pending: open.size })
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
