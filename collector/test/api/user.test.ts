import { expect, test } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { openCollector, post } from '../support.ts'

interface User {
  traits: Record<string, unknown>
  groups: Array<{ groupId: string }>
  traitHistory: Array<{ changes: unknown[] }>
  more: { traits: number; changes: number; groups: number }
}

async function userOf(collector: Collector, query = ''): Promise<{ bytes: number; user: User }> {
  const text = await (await fetch(`${collector.url}/api/users/ada${query}`)).text()
  return { bytes: Buffer.byteLength(text), user: JSON.parse(text) }
}

async function send(collector: Collector, batch: object[]): Promise<void> {
  expect((await post(collector, '/v1/batch', { batch })).status).toBe(200)
}

test('of a user with 20,000 traits, the newest are in the answer, and the others are counted', async () => {
  const collector = await openCollector()
  const value = 'é'.repeat(10)
  for (let part = 0; part < 20; part++) {
    const traits = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`t-${part}-${n}`, value]))
    const more = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`u-${part}-${n}`, value]))
    await send(collector, [
      { type: 'identify', userId: 'ada', traits },
      { type: 'identify', userId: 'ada', traits: more },
    ])
  }
  const { bytes, user } = await userOf(collector)

  expect(bytes).toBeLessThan(1_000_000)
  expect(Object.keys(user.traits)).toHaveLength(1000)
  expect(user.traits).toHaveProperty('u-19-499', value)
  expect(user.more).toMatchObject({ traits: 19_000, groups: 0 })
  const shown = user.traitHistory.reduce((sum, { changes }) => sum + changes.length, 0)
  expect(shown).toBe(1000)
  expect(shown + user.more.changes).toBe(20_000)
})
