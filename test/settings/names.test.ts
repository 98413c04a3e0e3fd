import { describe, expect, test } from 'vitest'
import { describeUnknownNames } from '../../src/settings/names.ts'
import { SETTINGS } from '../../src/settings/schema.ts'

const NAMES = Object.keys(SETTINGS)

describe('names that are not settings', () => {
  test.each([
    ['all settings', Object.fromEntries(NAMES.map((name) => [name, 1])), {}],
    ['inherited names', Object.create({ dataPlaneUrl: 'x' }), Object.create({ pem: 'x' })],
    ['oauthSettings that are no object', {}, 'x'],
    ['null as oauthSettings', {}, null],
  ])('do not occur in %s', (_label, given, oauthSettings) => {
    expect(describeUnknownNames(given, oauthSettings)).toBeUndefined()
  })
})
