import { describe, expect, test } from 'vitest'
import { SettingsError } from '../../src/errors/errors.ts'
import { SETTINGS } from '../../src/settings/schema.ts'
import { checkNames, checkOAuthNames, nearestName } from '../../src/settings/suggest.ts'

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
  ])('for %s is %s', (name, nearest) => {
    expect(nearestName(name, SETTING_NAMES)).toBe(nearest)
  })

  test.each(['colour', 'debug', 'gzip', 'port', 'x', '', 'constructor', '__proto__', 'sendImmediately'])(
    'for %j does not exist',
    (name) => {
      expect(nearestName(name, SETTING_NAMES)).toBeUndefined()
    },
  )

  test('may have a distance of three, but not of four', () => {
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
  ])('%s throws an error that names %s', (name, ours) => {
    const check = () => checkNames({ [name]: 1 })

    expect(check).toThrow(SettingsError)
    expect(check).toThrow(`${name}: unknown setting; write ${ours}`)
  })

  test('throw inside oauthSettings too', () => {
    expect(() => checkOAuthNames({ privateKey: 'x' })).toThrow(
      'oauthSettings.privateKey: unknown setting; write oauthSettings.clientKey',
    )
  })

  test('are never names of this SDK', () => {
    expect(checkNames(Object.fromEntries(SETTING_NAMES.map((name) => [name, 1])))).toEqual([])
    expect(checkNames({ enable: false, enabled: false, disabled: true })).toEqual([])
  })

  test('are ignored when they are inherited', () => {
    expect(checkNames(Object.create({ dataPlaneUrl: 'x', colour: 'bleu' }))).toEqual([])
  })
})
