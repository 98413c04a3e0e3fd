import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { withoutPassword } from '../../../src/store/address.ts'
import type { Batch } from '../../../src/store/postgres/commit.ts'
import { Writer } from '../../../src/store/postgres/writer.ts'
import { newEvent } from '../new-event.ts'

const MEGABYTE = 1024 * 1024

test('large events that wait for a database are bounded by their size, and there is room again when they are written', async () => {
  let commit = () => {}
  const held = new Promise<void>((resolve) => {
    commit = resolve
  })
  let written = 0
  const writer = new Writer({
    commit: async ({ groups }: Batch) => {
      await held
      written += groups.reduce((sum, { events }) => sum + events.length, 0)
      return []
    },
    onCommit: () => {},
    onFault: () => {},
    opening: 1,
    clock: systemClock,
  })
  // One text, however often it is named.
  const large = newEvent('', { messageId: null, body: 'x'.repeat(MEGABYTE) })

  const results = Promise.allSettled(Array.from({ length: 200 }, () => writer.append([large])))
  commit()
  const refused = (await results).filter(({ status }) => status === 'rejected')

  expect([written, refused.length]).toEqual([128, 72])
  await writer.append([large])
  expect(written).toBe(129)
})

test('a password with a stray percent sign is taken out as well', () => {
  const address = 'postgres://me:100%secret@host/events'

  expect(withoutPassword('100%secret is wrong', address)).toBe('*** is wrong')
})
