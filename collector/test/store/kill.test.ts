import { once } from 'node:events'
import { expect, test } from 'vitest'
import { newDatabaseFile, start } from '../support/process.ts'
import { openCollector, post, track } from '../support.ts'

test('nothing that was answered with 200 is lost when the process is killed', async () => {
  const store = newDatabaseFile()
  const { child, url } = await start(['--port', '0', '--store', store])
  const acknowledged = new Set<string>()
  let sent = 0
  const client = async () => {
    for (;;) {
      sent++
      const batch = Array.from({ length: 5 }, (_, index) => track({ messageId: `${sent}-${index}` }))
      const response = await post({ url }, '/v1/batch', { batch }).catch(() => undefined)
      if (response === undefined) return
      if (response.status === 200) for (const { messageId } of batch) acknowledged.add(String(messageId))
      if (acknowledged.size >= 1000) child.kill('SIGKILL')
    }
  }

  await Promise.all([...Array.from({ length: 8 }, client), once(child, 'exit')])

  const collector = await openCollector({ store })
  const kept = new Set(collector.events({ status: 'accepted' }).map(({ messageId }) => messageId))
  expect(acknowledged.size).toBeGreaterThanOrEqual(1000)
  expect([...acknowledged].filter((id) => !kept.has(id))).toEqual([])
})
