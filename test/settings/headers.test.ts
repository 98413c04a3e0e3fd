import { describe, expect, test } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import type { AnalyticsSettings } from '../../src/settings/settings.ts'

const WRITE_KEY = 'wk_Zurich_7Qm4'

function resolve(headers: unknown) {
  return resolveSettings({ writeKey: WRITE_KEY, headers } as AnalyticsSettings).headers
}

function errorOf(headers: unknown): SettingsError {
  try {
    resolve(headers)
  } catch (error) {
    if (error instanceof SettingsError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('S15: the setting headers', () => {
  test('is copied, so that later changes have no effect', () => {
    const given: Record<string, string> = { 'X-Api-Key': 'k 1', Cookie: 'a=b; c=d' }
    const resolved = resolve(given)

    given['X-Other'] = 'late'

    expect(resolved).toEqual({ 'X-Api-Key': 'k 1', Cookie: 'a=b; c=d' })
    expect(Object.isFrozen(resolved)).toBe(true)
  })

  test('may be undefined, and so may the value of a header', () => {
    expect(resolve(undefined)).toBeUndefined()
    expect(resolve({ 'X-Tenant': undefined, 'X-Region': 'zh' })).toEqual({ 'X-Region': 'zh' })
  })

  test.each([
    ...['Authorization', 'authorization', 'CONTENT-TYPE', 'Content-Length', 'Content-Encoding', 'User-Agent'],
    ...['Accept-Encoding', 'X-Retry-Count', 'Host', 'Connection', 'Transfer-Encoding', 'Expect', 'Upgrade'],
  ])('refuses %s in upper or lower case: the client or HTTP sets it', (name) => {
    const error = errorOf({ [name]: 'v' })

    expect(error.setting).toBe(`headers.${name}`)
    expect(error.message).toContain('is set by the client or HTTP')
  })

  test('refuses a name that is given twice', () => {
    expect(errorOf({ 'X-Tenant': 'a', 'x-tenant': 'b' }).message).toContain('given twice')
  })

  test.each(['', 'X Tenant', 'X-Tenant:', 'X-Tenant\r\nX-Evil', 'X-Zoë', 'x'.repeat(257)])(
    'refuses, without showing it, a name that no header can have: %j',
    (name) => {
      const { setting, message } = errorOf({ [name]: 'v' })

      expect(setting).toBe('headers')
      if (name !== '') expect(message).not.toContain(name)
    },
  )

  test.each(['', ' v', 'v ', 'v\r\nX-Evil: 1', 'v\nw', 'v\0', 'clé', '🍰', 'x'.repeat(8_193)])(
    'refuses, without showing it, a value that cannot be sent unchanged: %j',
    (value) => {
      const { setting, message } = errorOf({ 'X-Tenant': value })

      expect(setting).toBe('headers.X-Tenant')
      if (value.length > 2) expect(message).not.toContain(value)
    },
  )

  test('accepts a value of 8,192 characters', () => {
    expect(resolve({ 'X-Tenant': 'x'.repeat(8_192) })?.['X-Tenant']).toHaveLength(8_192)
  })

  test.each([
    [{ 'X-Tenant': 7 }, 'a number'],
    [{ 'X-Tenant': null }, 'null'],
    [{ 'X-Tenant': ['a'] }, 'an array'],
  ])('refuses a value that is not a string: %j', (headers, got) => {
    expect(errorOf(headers).message).toContain(`expected a string, got ${got}`)
  })

  test.each([
    ['a string', 'X-Tenant: a'],
    ['null', null],
    ['a number', 7],
  ])('refuses %s instead of the object', (got, headers) => {
    expect(errorOf(headers).message).toContain(`got ${got}`)
  })

  test.each([
    ['a Headers object', new Headers({ 'X-Tenant': 'a' })],
    ['a Map', new Map([['X-Tenant', 'a']])],
    ['a list of pairs', [['X-Tenant', 'a']]],
  ])('refuses %s: none of its headers would be sent', (_, headers) => {
    expect(errorOf(headers).message).toContain('expected a plain object')
  })
})
