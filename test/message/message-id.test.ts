import { expect, test } from 'vitest'
import { isMessageId } from '../../src/message/message-id.ts'
import { platform } from '../../src/runtime/platform.node.ts'

test('a new id is a random UUID that the service accepts', () => {
  const id = platform.randomId()

  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(isMessageId(id)).toBe(true)
  expect(platform.randomId()).not.toBe(id)
})

// Other values are in validity.test.ts.
test('the limit counts characters and not UTF-16 code units, as in the collector', () => {
  expect([99, 100].map((count) => isMessageId('🍰'.repeat(count)))).toEqual([true, false])
})
