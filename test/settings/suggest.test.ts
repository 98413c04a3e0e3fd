import { describe, expect, test } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import { SETTINGS } from '../../src/settings/schema.ts'
import { checkNames, checkOAuthNames, nearestName } from '../../src/settings/suggest.ts'

/** Every name that the constructor knows. */
const SETTING_NAMES = [...Object.keys(SETTINGS), 'maxEventsInBatch']

describe('the nearest name', () => {
  test.each([
    ['flushat', 'flushAt'],
    ['flush_at', 'flushAt'],
    ['writekey', 'writeKey'],
    ['maxRetry', 'maxRetries'],
    ['maxQueSize', 'maxQueueSize'],
    ['httpRequestTimeOut', 'httpRequestTimeout'],
    ['hosts', 'host'],
    ['disabled', 'disable'],
  ])('%s is near %s', (name, nearest) => {
    expect(nearestName(name, SETTING_NAMES)).toBe(nearest)
  })

  test.each(['colour', 'debug', 'gzip', 'port', 'x', '', 'constructor', '__proto__', 'sendImmediately'])(
    '%j is near none',
    (name) => {
      expect(nearestName(name, SETTING_NAMES)).toBeUndefined()
    },
  )

  test('a distance of three is near, and of four is not', () => {
    expect(nearestName('maxTotalBackoffDur', ['maxTotalBackoffDurat'])).toBe('maxTotalBackoffDurat')
    expect(nearestName('maxTotalBackoffD', ['maxTotalBackoffDura'])).toBe('maxTotalBackoffDura')
    expect(nearestName('maxTotalBackoff', ['maxTotalBackoffDura'])).toBeUndefined()
  })
})

describe('names of other SDKs', () => {
  test.each([
    ['dataPlaneUrl', 'host'],
    ['endpoint', 'host'],
    ['retryCount', 'maxRetries'],
    ['timeout', 'httpRequestTimeout'],
    ['flush_queue_size', 'flushAt'],
    ['maxInternalQueueSize', 'maxQueueSize'],
    ['axiosInstance', 'httpClient'],
    ['api_key', 'writeKey'],
  ])('%s throws and names %s', (name, ours) => {
    const check = () => checkNames({ [name]: 1 })

    expect(check).toThrow(SettingsError)
    expect(check).toThrow(`${name}: unknown setting; write ${ours}`)
  })

  test('inside oauthSettings they throw too', () => {
    expect(() => checkOAuthNames({ privateKey: 'x' })).toThrow(
      'oauthSettings.privateKey: unknown setting; write oauthSettings.clientKey',
    )
  })

  test('no name of ours is one of them', () => {
    expect(checkNames(Object.fromEntries(SETTING_NAMES.map((name) => [name, 1])))).toEqual([])
    expect(checkNames({ enable: false, enabled: false, disabled: true })).toEqual([])
  })

  test('inherited names do not count', () => {
    expect(checkNames(Object.create({ dataPlaneUrl: 'x', colour: 'bleu' }))).toEqual([])
  })
})
