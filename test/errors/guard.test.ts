import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { guard as guardWith, isThenable, warnOnce } from '../../src/errors/guard.ts'
import { settled } from '../support/fake-clock.ts'

let warnings: { message: string; options: unknown }[]
beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
    warnings.push({ message: String(message), options })
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

function guard(run: () => unknown, what: string): void {
  guardWith(run, (error, verb) => warnOnce(what, error, verb))
}

describe('guarded code', () => {
  test('that throws is reported once, with the code TRACKPOST_USER_CODE', () => {
    const fail = () => {
      throw new Error('geheim')
    }

    guard(fail, 'a callback of test 1')
    guard(fail, 'a callback of test 1')

    expect(warnings).toEqual([
      {
        message: expect.stringMatching(
          /^a callback of test 1 threw at \S+guard\.test\.ts:\d+:\d+; the error was ignored, and further ones will be ignored silently$/,
        ),
        options: { type: 'TrackpostWarning', code: 'TRACKPOST_USER_CODE' },
      },
    ])
  })

  test('that rejects is reported once', async () => {
    guard(() => Promise.reject(new Error('geheim')), 'a callback of test 2')
    guard(() => Promise.reject(new Error('geheim')), 'a callback of test 2')
    await settled()

    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^a callback of test 2 rejected/),
    ])
  })

  test('that succeeds is not reported', async () => {
    guard(() => 5, 'a callback of test 3')
    guard(async () => {}, 'a callback of test 3')
    await settled()

    expect(warnings).toEqual([])
  })

  test('causes no error when emitWarning throws', () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {
      throw new Error('non')
    })

    expect(() =>
      guard(() => {
        throw new Error('geheim')
      }, 'a callback of test 4'),
    ).not.toThrow()
  })
})

describe('isThenable', () => {
  test.each([
    ['a promise', Promise.resolve(), true],
    // biome-ignore lint/suspicious/noThenProperty: the very object under test
    ['an object with then', { then() {} }, true],
    // biome-ignore lint/suspicious/noThenProperty: the very object under test
    ['an object whose then is not a function', { then: 5 }, false],
    ['undefined', undefined, false],
    ['null', null, false],
    ['a number', 5, false],
    ['a context', { event: {} }, false],
  ])('%s: %s', (_label, value, expected) => {
    expect(isThenable(value)).toBe(expected)
  })
})
