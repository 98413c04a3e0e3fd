import { describe, expect, test } from 'vitest'
import { copyCause } from '../../src/errors/cause.ts'
import { DeliveryError, SettingsError, TrackpostError } from '../../src/errors/errors.ts'

describe('errors', () => {
  test('a delivery error carries its code, status and cause', () => {
    const cause = new Error('socket hang up')

    const error = new DeliveryError('rejected', '[400] Bad Request', { cause, status: 400 })

    expect(error).toBeInstanceOf(TrackpostError)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'DeliveryError', code: 'rejected', status: 400, cause })
    expect(error.message).toBe('[400] Bad Request')
  })

  test('a settings error names the setting in a property and at the start of its message', () => {
    const error = new SettingsError('flushAt', 'expected an integer, got string')

    expect(error).toBeInstanceOf(TrackpostError)
    expect(error).toMatchObject({ name: 'SettingsError', code: 'invalid_setting', setting: 'flushAt' })
    expect(error.message).toBe('flushAt: expected an integer, got string')
  })
})

// Hardened programs call Object.freeze(Error.prototype), which makes its properties read-only.
test('errors can be made where the name of Error.prototype is read-only', () => {
  Object.defineProperty(Error.prototype, 'name', { writable: false })
  try {
    expect(new DeliveryError('auth', 'nein').name).toBe('DeliveryError')
    expect(copyCause(new TypeError('fetch failed'), (text) => text)?.name).toBe('TypeError')
  } finally {
    Object.defineProperty(Error.prototype, 'name', { writable: true })
  }
})

describe('an error that many events share', () => {
  test('cannot be changed by a callback', () => {
    const error = new DeliveryError('rejected', '[400] Bad Request', { status: 400 })

    for (const name of ['code', 'message', 'status', 'name', 'further']) {
      expect(Reflect.set(error, name, 'X')).toBe(false)
    }
    expect(error.code).toBe('rejected')
  })
})

test('names are literal: a bundler that renames classes changes nothing', () => {
  class A extends DeliveryError {}
  class B extends SettingsError {}

  expect([new A('auth', '').name, new B('host', '').name]).toEqual(['DeliveryError', 'SettingsError'])
})
