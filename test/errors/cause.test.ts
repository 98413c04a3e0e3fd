import { describe, expect, test } from 'vitest'
import { copyCause, describeCause, isConnectionLost } from '../../src/errors/cause.ts'

const coded = (message: string, code: string, cause?: unknown): Error =>
  Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code })

const throwing = new Proxy(
  {},
  {
    get() {
      throw new Error('non')
    },
  },
)

describe('a lost connection', () => {
  test.each(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'ConnectionClosed'])(
    '%s is recognized, also as a cause',
    (code) => {
      expect(isConnectionLost(coded('socket hang up', code))).toBe(true)
      expect(
        isConnectionLost(new TypeError('fetch failed', { cause: coded('other side closed', code) })),
      ).toBe(true)
    },
  )

  test.each([
    ['a refused connection', coded('connect ECONNREFUSED', 'ECONNREFUSED')],
    ['an unknown name', coded('getaddrinfo ENOTFOUND', 'ENOTFOUND')],
    ['a TLS failure', coded('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['an error without a code', new Error('ECONNRESET')],
    ['undefined', undefined],
    ['null', null],
    ['text', 'ECONNRESET'],
    ['a number', 104],
    ['an object that throws', throwing],
  ])('%s is not a lost connection', (_label, cause) => {
    expect(isConnectionLost(cause)).toBe(false)
  })
})

describe('describing a cause', () => {
  test.each([
    ['an error', new Error('échec'), 'échec'],
    ['line breaks', new Error('first\r\n  second\nthird\n'), 'first second third'],
    [
      'a code that the message does not name',
      coded('other side closed', 'UND_ERR_SOCKET'),
      'other side closed (UND_ERR_SOCKET)',
    ],
    ['a code that the message names', coded('read ECONNRESET', 'ECONNRESET'), 'read ECONNRESET'],
    [
      'a chain',
      new TypeError('fetch failed', { cause: coded('read ECONNRESET', 'ECONNRESET') }),
      'fetch failed: read ECONNRESET',
    ],
    [
      'a code without a message, as of a refused connection on two addresses',
      new TypeError('fetch failed', { cause: coded('', 'ECONNREFUSED') }),
      'fetch failed: ECONNREFUSED',
    ],
    ['a cause with the same message', new Error('échec', { cause: new Error('échec') }), 'échec'],
    ['text', 'échec', 'échec'],
    ['undefined', undefined, 'unknown error'],
    ['null', null, 'unknown error'],
    ['a number', 5, 'unknown error'],
    ['an object that is not an error', { reason: 'échec' }, 'unknown error'],
    ['an object that throws', throwing, 'unknown error'],
  ])('%s', (_label, cause, text) => {
    expect(describeCause(cause)).toBe(text)
  })

  test('an error that is its own cause is described and copied once', () => {
    const error: Error = new Error('échec')
    error.cause = error

    expect(describeCause(error)).toBe('échec')
    expect(copyCause(error, (text) => text)?.message).toBe('échec')
  })
})

describe('copying a cause', () => {
  test('names, messages and codes are kept, and nothing else', () => {
    const inner = Object.assign(coded('read ECONNRESET', 'ECONNRESET'), { request: { headers: {} } })
    const outer = Object.assign(new TypeError('fetch failed', { cause: inner }), { config: {} })

    const copy = copyCause(outer, (text) => text)

    expect(copy).toBeInstanceOf(Error)
    expect(copy).toMatchObject({ name: 'TypeError', message: 'fetch failed' })
    expect(copy?.cause).toMatchObject({ name: 'Error', message: 'read ECONNRESET', code: 'ECONNRESET' })
    expect(copy).not.toHaveProperty('config')
    expect(copy?.cause).not.toHaveProperty('request')
    expect(copy).not.toHaveProperty('code')
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['an object that throws', throwing],
  ])('of %s gives nothing', (_label, cause) => {
    expect(copyCause(cause, (text) => text)).toBeUndefined()
  })
})

test('secrets are also removed from the names and codes of a copy', () => {
  const cause = Object.assign(new Error('refused'), { name: 'wk_7', code: 'E_wk_7' })

  const copy = copyCause(cause, (text) => text.split('wk_7').join('[redacted]'))

  expect(copy).toMatchObject({ name: '[redacted]', message: 'refused', code: 'E_[redacted]' })
  expect(copy?.stack).toBe('[redacted]: refused')
})
