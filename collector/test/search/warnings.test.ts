import { expect, test } from 'vitest'
import { WARNINGS } from '../../src/record.ts'
import { openCollector, post, track } from '../support.ts'

test('the search field warning finds events by a code, or by the beginning of a code', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ messageId: 'zone', timestamp: '2026-05-17T11:59:00' }))
  await post(collector, '/v1/track', track({ messageId: 'none', timestamp: 'yesterday' }))
  await post(collector, '/v1/track', track({ messageId: 'fine' }))
  const found = (q: string) => collector.events({ q }).map(({ messageId }) => messageId)

  expect(found('warning:timestamp')).toEqual(['none'])
  expect(found('warning:timestamp_zone')).toEqual(['zone'])
  expect(found('warning:timestamp*')).toEqual(['zone', 'none'])
  expect(found('warning:zone')).toEqual([])
  expect(found('warning:timestamp,timestamp_zone')).toEqual(['zone', 'none'])
  expect(found('warning:*')).toEqual(['zone', 'none'])
  expect(found('-warning:timestamp')).toEqual(['zone', 'fine'])
})

test('/api/reasons has the text and the remedy of every warning', async () => {
  const { url } = await openCollector()
  const { warnings, help } = (await (await fetch(`${url}/api/reasons`)).json()) as {
    warnings: Record<string, string>
    help: Record<string, { meaning: string; remedy: string; severity: string }>
  }

  expect(Object.keys(warnings)).toEqual(Object.keys(WARNINGS))
  for (const [code, meaning] of Object.entries(warnings)) {
    expect(help[code]).toMatchObject({ meaning, severity: 'warning' })
    expect(help[code]?.remedy.length).toBeGreaterThan(20)
    expect(help[code]?.remedy).not.toBe('Look at an example.')
  }
})
