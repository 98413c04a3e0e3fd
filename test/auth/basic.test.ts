import { describe, expect, test } from 'vitest'
import { basicCredentials } from '../../src/auth/basic.ts'

describe('basic credentials', () => {
  test('the write key is the user name, with an empty password and its colon', () => {
    const credentials = basicCredentials('wk_Zurich_7Qm4')

    const authorization = credentials.authorization() as string

    expect(authorization).toMatch(/^Basic /)
    expect(Buffer.from(authorization.slice(6), 'base64').toString()).toBe('wk_Zurich_7Qm4:')
  })

  test('a refused key stays what it was', () => {
    const credentials = basicCredentials('wk_Zurich_7Qm4')
    const before = credentials.authorization()

    credentials.onUnauthorized(String(before))
    credentials.close()

    expect(credentials.isRenewable).toBe(false)
    expect(credentials.authorization()).toBe(before)
  })
})
