import { describe, expect, test } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import { CompatAnalytics } from '../../src/compat/analytics.ts'
import { SettingsError } from '../../src/errors/errors.ts'

class Shop extends Analytics {
  constructor(settings: object) {
    super(settings as never)
  }
}

const clientKey = '-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----'

function firstFrameOf(make: () => unknown): string | undefined {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    const [header, frame] = String((error as Error).stack).split('\n    at ')
    expect(header).toBe(String(error))
    return frame
  }
  throw new Error('it did not throw')
}

describe('the stack of a SettingsError begins where the client was created', () => {
  test.each([
    ['a bad setting', () => new Analytics({ writeKey: 'k', flushAt: 0 })],
    ['no settings', () => new Analytics(undefined as never)],
    [
      'a key that cannot be parsed',
      () => new Analytics({ writeKey: 'k', oauthSettings: { clientId: 'c', keyId: 'i', clientKey } }),
    ],
    ['a subclass', () => new Shop({ writeKey: '' })],
    ['the client of trackpost/compat', () => new CompatAnalytics('')],
  ])('%s', (_label, make) => {
    expect(firstFrameOf(make)).toMatch(/settings-error\.test\.ts/)
    expect(firstFrameOf(make)).not.toMatch(/new (Shop|Analytics|CompatAnalytics)/)
  })
})
