import { beforeAll, expect, test } from 'vitest'
import { type Collector, startCollector } from '../../../collector/src/index.ts'
import { foundOver, LONGEST, SEARCHES, send, statusOf } from '../../../collector/test/search/examples.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

describeWithPostgres('searches on PostgreSQL', () => {
  let collector: Collector

  beforeAll(async () => {
    collector = await startCollector({ port: 0, store: await newDatabase() })
    await send(collector)
    return () => collector.close()
  })

  test.each(SEARCHES)('%j finds %j', async (q, expected) => {
    expect(await foundOver(collector, q)).toBe(expected)
  })

  test('the store can handle as many values as a search line may have', async () => {
    for (const q of LONGEST) expect([q, await statusOf(collector, q)]).not.toContain(503)
  })
})
