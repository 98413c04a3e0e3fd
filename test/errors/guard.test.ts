import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { guard, isThenable } from '../../src/errors/guard.ts'
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

describe('guarded code', () => {
  test('what throws is told once, under a code of its own', () => {
    const fail = () => {
      throw new Error('geheim')
    }

    guard(fail, 'a callback of test 1')
    guard(fail, 'a callback of test 1')

    expect(warnings).toEqual([
      {
        message:
          'a callback of test 1 threw; the error was ignored, and further ones will be ignored silently',
        options: { type: 'TrackpostWarning', code: 'TRACKPOST_USER_CODE' },
      },
    ])
  })

  test('what rejects is told once', async () => {
    guard(() => Promise.reject(new Error('geheim')), 'a callback of test 2')
    guard(() => Promise.reject(new Error('geheim')), 'a callback of test 2')
    await settled()

    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^a callback of test 2 rejected/),
    ])
  })

  test('what goes well is not told', async () => {
    guard(() => 5, 'a callback of test 3')
    guard(async () => {}, 'a callback of test 3')
    await settled()

    expect(warnings).toEqual([])
  })

  test('a host whose emitWarning throws is not harmed', () => {
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

describe('what is to be awaited', () => {
  test.each([
    ['a promise', Promise.resolve(), true],
    // biome-ignore lint/suspicious/noThenProperty: the very object under test
    ['an object with then', { then() {} }, true],
    // biome-ignore lint/suspicious/noThenProperty: the very object under test
    ['a then that is no function', { then: 5 }, false],
    ['undefined', undefined, false],
    ['null', null, false],
    ['a number', 5, false],
    ['a context', { event: {} }, false],
  ])('%s: %s', (_label, value, expected) => {
    expect(isThenable(value)).toBe(expected)
  })
})
