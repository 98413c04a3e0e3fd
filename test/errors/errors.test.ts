import { describe, expect, test } from 'vitest'
import { copyCause } from '../../src/errors/cause.ts'
import { DeliveryError, SettingsError } from '../../src/errors/errors.ts'

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
