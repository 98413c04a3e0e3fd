import { describe, expect, test } from 'vitest'
import { describeUnknownNames, unknownOption } from '../../src/settings/names.ts'
import { OAUTH_SETTINGS, SETTINGS } from '../../src/settings/schema.ts'

const NAMES = Object.keys(SETTINGS)
const OAUTH_NAMES = Object.keys(OAUTH_SETTINGS)

describe('names that are not settings', () => {
  test('are listed in one text, with the names that are', () => {
    expect(describeUnknownNames({ writeKey: 'w', timeout: 5_000, url: 'x', retries: 3 }, undefined)).toBe(
      `unknown settings: timeout, url, retries; the settings are ${NAMES.join(', ')}`,
    )
  })

  test('of oauthSettings are in the same text', () => {
    expect(describeUnknownNames({ colour: 'bleu' }, { privateKey: 'x' })).toBe(
      'unknown settings: colour, oauthSettings.privateKey; ' +
        `the settings are ${NAMES.join(', ')}; those of oauthSettings are ${OAUTH_NAMES.join(', ')}`,
    )
  })

  test.each([
    ['all settings', Object.fromEntries(NAMES.map((name) => [name, 1])), {}],
    ['inherited names', Object.create({ dataPlaneUrl: 'x' }), Object.create({ pem: 'x' })],
    ['oauthSettings that are no object', {}, 'x'],
    ['null as oauthSettings', {}, null],
  ])('do not occur in %s', (_label, given, oauthSettings) => {
    expect(describeUnknownNames(given, oauthSettings)).toBeUndefined()
  })

  test('are cut after 40 characters', () => {
    expect(describeUnknownNames({ ['x'.repeat(10_000)]: 1 }, undefined)?.length).toBeLessThan(1_000)
  })
})

test('an unknown option is named, with the options that exist', () => {
  expect(unknownOption({ a: 1, c: 2 }, ['a', 'b'])).toEqual(['c', 'unknown option; the options are a, b'])
  expect(unknownOption({ a: 1 }, ['a', 'b'])).toBeUndefined()
})
