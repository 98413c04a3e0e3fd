import { expect, test } from 'vitest'
import { basicAuthorization } from '../../src/auth/basic.ts'

test('the write key is the user name, with an empty password and its colon', () => {
  const authorization = basicAuthorization('wk_Zurich_7Qm4')

  expect(authorization).toMatch(/^Basic /)
  expect(Buffer.from(authorization.slice(6), 'base64').toString()).toBe('wk_Zurich_7Qm4:')
})
