import { beforeAll, expect, test } from 'vitest'
import { type Collector, startCollector } from '../../../collector/src/index.ts'
import { foundOver, LONGEST, SEARCHES, send, statusOf } from '../../../collector/test/search/examples.ts'
import { openCollector } from '../../../collector/test/support.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect } from './open.ts'

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

  test('the searches find the same if the database reads a backslash in a string as an escape', async () => {
    const address = await newDatabase()
    const client = await connect(address)
    const name = new URL(address).pathname.slice(1)
    await client.query(`ALTER DATABASE ${name} SET standard_conforming_strings = off`)
    const other = await openCollector({ store: address })
    await send(other)

    for (const [q, expected] of SEARCHES) expect([q, await foundOver(other, q)]).toEqual([q, expected])
  })

  test('the store can handle as many values as a search line may have', async () => {
    for (const q of LONGEST) expect([q, await statusOf(collector, q)]).not.toContain(503)
  })
})
