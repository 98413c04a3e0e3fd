import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type Barrier, Ledger } from '../../src/client/ledger.ts'
import { FAILURE_CODES } from '../../src/errors/errors.ts'
import { createItem, type Item } from '../../src/line/item.ts'

const accept = (ledger: Ledger): Item => createItem('track', ledger.accept())
/** Settles an event as the client does. */
function settle(ledger: Ledger, item: Item, code?: Parameters<Ledger['settle']>[1]): void {
  item.state = 'done'
  ledger.settle(item, code)
}

describe('the ledger', () => {
  test('starts with zeros, and has a count for every failure code', () => {
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

  test('counts each outcome once, and failures by code', () => {
    const ledger = new Ledger()
    const items = [1, 2, 3, 4].map(() => accept(ledger))

    settle(ledger, items[0] as Item, undefined)
    settle(ledger, items[1] as Item, 'rejected')
    settle(ledger, items[2] as Item, 'rejected')

    expect(ledger.stats()).toMatchObject({ accepted: 4, delivered: 1, failed: 2, pending: 1 })
    expect(ledger.stats().failures).toMatchObject({ rejected: 2, auth: 0 })
    expect(ledger.pending).toBe(1)
  })

  test('does not count deferred events as failed, and counts recovered ones as accepted', () => {
    const ledger = new Ledger()
    const [own, recovered] = [accept(ledger), createItem('track', ledger.recover())]
    const barrier = ledger.barrier()

    settle(ledger, own, 'deferred')
    settle(ledger, recovered, undefined)

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

  test('returns its stats as a copy, which does not change later and cannot change the ledger', () => {
    const ledger = new Ledger()
    const before = ledger.stats()

    settle(ledger, accept(ledger), 'auth')
    ;(before.failures as Record<string, number>)['auth'] = 99

    expect(before.accepted).toBe(0)
    expect(ledger.stats().failures.auth).toBe(1)
  })
})

describe('a barrier', () => {
  test('does not exist when no event is pending', () => {
    const ledger = new Ledger()
    settle(ledger, accept(ledger), undefined)

    expect(ledger.barrier()).toBeUndefined()
  })

  test('calls back at once when it has been reached already', () => {
    const ledger = new Ledger()
    const item = accept(ledger)
    const barrier = ledger.barrier() as Barrier
    settle(ledger, item, undefined)
    const reached = vi.fn()

    barrier.onceReached(reached)

    expect(reached).toHaveBeenCalledTimes(1)
    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('does not count events that ended before it was made', () => {
    const ledger = new Ledger()
    const open = accept(ledger)
    ledger.barrier()
    settle(ledger, accept(ledger), undefined)
    settle(ledger, accept(ledger), 'rejected')

    const second = ledger.barrier() as Barrier
    settle(ledger, accept(ledger), undefined)
    settle(ledger, open, 'auth')

    expect(second.summary()).toEqual({ delivered: 0, failed: 1, pending: 0 })
  })

  test('takes about the same time with 100 and with 20,000 pending events', () => {
    const ledger = new Ledger()
    /** Milliseconds for 50 barriers, in the round that other processes disturb least: the fastest. */
    const costs: number[] = []
    for (const open of [100, 20_000]) {
      while (ledger.pending < open) {
        accept(ledger)
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

    // If each barrier visited all pending events, 200 times as many events would take 200 times as long.
    const [few, many] = costs as [number, number]
    expect(many / few).toBeLessThan(20)
  })

  test('is reached with the last outcome of the events that were accepted before it', () => {
    const ledger = new Ledger()
    const items = [accept(ledger), accept(ledger)] as const
    const reached = vi.fn()
    const barrier = ledger.barrier() as Barrier
    barrier.onceReached(reached)

    settle(ledger, items[0], undefined)
    expect(reached).not.toHaveBeenCalled()
    settle(ledger, items[1], 'too_large')

    expect(reached).toHaveBeenCalledTimes(1)
    expect(barrier.summary()).toEqual({ delivered: 1, failed: 1, pending: 0 })
  })

  test('does not wait for events that are accepted later, which are not in its summary', () => {
    const ledger = new Ledger()
    const early = accept(ledger)
    const reached = vi.fn()
    const barrier = ledger.barrier() as Barrier
    barrier.onceReached(reached)
    const late = accept(ledger)

    settle(ledger, late, undefined)
    expect(reached).not.toHaveBeenCalled()
    settle(ledger, early, undefined)

    expect(reached).toHaveBeenCalledTimes(1)
    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('does not count events that had their outcome before it', () => {
    const ledger = new Ledger()
    settle(ledger, accept(ledger), undefined)
    const item = accept(ledger)

    const barrier = ledger.barrier() as Barrier
    settle(ledger, item, undefined)

    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('has a summary that counts open events as pending', () => {
    const ledger = new Ledger()
    const item = accept(ledger)
    accept(ledger)
    const barrier = ledger.barrier() as Barrier

    settle(ledger, item, undefined)

    expect(barrier.summary()).toEqual({ delivered: 1, failed: 0, pending: 1 })
  })

  test('is reached together with another barrier that was made at the same point', () => {
    const ledger = new Ledger()
    const item = accept(ledger)
    const reached: string[] = []
    ;(ledger.barrier() as Barrier).onceReached(() => reached.push('first'))
    ;(ledger.barrier() as Barrier).onceReached(() => reached.push('second'))

    settle(ledger, item, undefined)

    expect(reached).toEqual(['first', 'second'])
  })

  test('waits for the events of an earlier barrier as well', () => {
    const ledger = new Ledger()
    const reached: string[] = []
    const first = accept(ledger)
    ;(ledger.barrier() as Barrier).onceReached(() => reached.push('first'))
    const second = accept(ledger)
    const later = ledger.barrier() as Barrier
    later.onceReached(() => reached.push('second'))

    settle(ledger, second, undefined)
    expect(reached).toEqual([])
    settle(ledger, first, 'deadline')

    expect(reached).toEqual(['first', 'second'])
    expect(later.summary()).toEqual({ delivered: 1, failed: 1, pending: 0 })
  })

  test('waits for the other events when it exempts one that has ended', () => {
    const ledger = new Ledger()
    const [ended, other] = [accept(ledger), accept(ledger)]
    ledger.beginWork(ended)
    settle(ledger, ended)
    ledger.endWork(ended)
    const run = vi.fn()

    ledger.barrier([ended])?.onceReached(run)
    expect(run).not.toHaveBeenCalled()
    settle(ledger, other)

    expect(run).toHaveBeenCalledTimes(1)
  })

  test('counts the other events correctly when it exempts one with an outcome, for which plugin work goes on', () => {
    const ledger = new Ledger()
    const [ended, other] = [accept(ledger), accept(ledger)]
    ledger.beginWork(ended)
    settle(ledger, ended)
    const run = vi.fn()

    const barrier = ledger.barrier([ended])
    barrier?.onceReached(run)
    expect(barrier?.summary()).toEqual({ delivered: 0, failed: 0, pending: 1 })
    settle(ledger, other)

    expect(run).toHaveBeenCalledTimes(1)
    expect(barrier?.summary()).toEqual({ delivered: 1, failed: 0, pending: 0 })
  })

  test('waits for plugin work that goes on after the outcome', () => {
    const ledger = new Ledger()
    const item = accept(ledger)
    ledger.beginWork(item)
    const reached = vi.fn()
    ;(ledger.barrier() as Barrier).onceReached(reached)

    settle(ledger, item, undefined)
    expect(reached).not.toHaveBeenCalled()
    ledger.endWork(item)

    expect(reached).toHaveBeenCalledTimes(1)
  })

  test('can wait for plugin work alone', () => {
    const ledger = new Ledger()
    const item = accept(ledger)
    ledger.beginWork(item)
    settle(ledger, item, undefined)
    const reached = vi.fn()

    const barrier = ledger.barrier()
    barrier?.onceReached(reached)
    ledger.endWork(item)

    expect(barrier).toBeDefined()
    expect(reached).toHaveBeenCalledTimes(1)
  })

  test('is reached exactly when all events before it are settled, even if several barriers overlap', () => {
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
        const open = new Map<number, Item>()
        const flushes: Model[] = []
        let id = 0
        const end = (chosen: number): void => {
          const ids = [...open.keys()]
          const settled = ids[chosen % ids.length] as number
          const isDelivered = chosen % 3 !== 0
          for (const flush of flushes) {
            if (!flush.open.delete(settled)) continue
            if (isDelivered) flush.delivered++
            else flush.failed++
          }
          settle(ledger, open.get(settled) as Item, isDelivered ? undefined : 'rejected')
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
          if (what === 'accept') open.set(id++, accept(ledger))
          else if (what === 'flush') flush()
          else if (open.size > 0) end(what)

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
