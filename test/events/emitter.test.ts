import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { Emitter } from '../../src/events/emitter.ts'
import { settled } from '../support/fake-clock.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'

interface Events {
  error: [Error]
  track: [string, number?]
  drained: []
}

const warnings = catchProcessWarnings()

describe('the emitter', () => {
  test('listeners are called in the order in which they were added, with all arguments', () => {
    const emitter = new Emitter<Events>()
    const calls: unknown[] = []
    emitter.on('track', (...args) => calls.push(['first', ...args]))
    emitter.on('track', (...args) => calls.push(['second', ...args]))

    emitter.emit('track', 'Thé', 2)

    expect(calls).toEqual([
      ['first', 'Thé', 2],
      ['second', 'Thé', 2],
    ])
  })

  test('an event without listeners, even an error, does nothing', () => {
    const emitter = new Emitter<Events>()

    expect(() => emitter.emit('error', new Error('échec'))).not.toThrow()
    expect(() => emitter.emit('drained')).not.toThrow()
  })

  test('a once listener is called once', () => {
    const emitter = new Emitter<Events>()
    const listener = vi.fn()
    emitter.once('drained', listener)

    emitter.emit('drained').emit('drained')

    expect(listener).toHaveBeenCalledTimes(1)
    expect(emitter.listenerCount('drained')).toBe(0)
  })

  test('a removed listener is not called, and others are', () => {
    const emitter = new Emitter<Events>()
    const gone = vi.fn()
    const stays = vi.fn()
    emitter.on('track', gone).on('track', stays).on('track', gone)
    expect(emitter.listeners('track')).toEqual([gone, stays, gone])

    emitter.off('track', gone).off('track', gone).emit('track', 'Thé')

    expect(gone).not.toHaveBeenCalled()
    expect(stays).toHaveBeenCalledTimes(1)
  })

  test('a listener that is added during an event is called from the next event on', () => {
    const emitter = new Emitter<Events>()
    const late = vi.fn()
    emitter.once('drained', () => emitter.on('drained', late))

    emitter.emit('drained')
    expect(late).not.toHaveBeenCalled()
    emitter.emit('drained')

    expect(late).toHaveBeenCalledTimes(1)
  })

  test('a listener that removes itself during an event does not prevent the call of others', () => {
    const emitter = new Emitter<Events>()
    const second = vi.fn()
    const first = vi.fn(() => emitter.off('drained', first))
    emitter.on('drained', first).on('drained', second)

    emitter.emit('drained').emit('drained')

    expect(first).toHaveBeenCalledTimes(1)
    expect(second).toHaveBeenCalledTimes(2)
  })

  test('all listeners of one event, or of all events, can be removed', () => {
    const emitter = new Emitter<Events>()
    const listener = vi.fn()
    emitter.on('drained', listener).on('track', listener).on('error', listener)

    emitter.removeAllListeners('drained')
    expect(emitter.listenerCount('drained')).toBe(0)
    expect(emitter.listenerCount('track')).toBe(1)
    emitter.removeAllListeners()

    emitter.emit('drained').emit('track', 'Thé').emit('error', new Error('échec'))
    expect(listener).not.toHaveBeenCalled()
  })
})

// test/faults/README.md, row F108.
test.each(['on', 'once', 'addListener'] as const)(
  'a listener added by %s runs in the asynchronous context of its registration',
  async (method) => {
    const storage = new AsyncLocalStorage<string>()
    const emitter = new Emitter<Events>()
    const seen: unknown[] = []
    storage.run('registration', () => {
      emitter[method]('track', async () => {
        seen.push(storage.getStore())
        await settled()
        seen.push(storage.getStore())
      })
    })

    storage.run('a request', () => emitter.emit('track', 'Thé'))
    await settled()
    emitter.emit('track', 'Thé')
    await settled()

    const calls = method.toLowerCase().includes('once') ? 1 : 2
    expect(seen).toEqual(Array(2 * calls).fill('registration'))
  },
)

describe('F108: listeners that fail', () => {
  const failures: [string, () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('geheim')
      },
    ],
    [
      'throws null',
      () => {
        throw null
      },
    ],
    ['rejects', () => Promise.reject(new Error('geheim'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
    [
      'returns a thenable that throws',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: the very object under test
        then() {
          throw new Error('geheim')
        },
      }),
    ],
  ]

  test.each(failures)('one that %s does not affect others', async (_label, fail) => {
    const emitter = new Emitter<Events>()
    const next = vi.fn()
    emitter.on('error', fail).on('error', next)

    expect(() => emitter.emit('error', new Error('échec'))).not.toThrow()
    await settled()

    expect(next).toHaveBeenCalledTimes(1)
  })

  test('are reported once for each event name, without the error, which may contain anything', async () => {
    const emitter = new Emitter<Record<string, unknown[]>>()
    const fail = () => {
      throw new Error('geheim')
    }
    emitter.on('commande', fail).on('panier', () => Promise.reject(new Error('geheim')))

    emitter.emit('commande').emit('commande').emit('panier').emit('panier')
    await settled()

    expect(warnings).toEqual([
      expect.stringContaining("a listener of 'commande' threw"),
      expect.stringContaining("a listener of 'panier' rejected"),
    ])
    expect(warnings.join()).not.toContain('geheim')
  })
})
