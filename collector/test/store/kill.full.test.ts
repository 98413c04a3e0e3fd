import { expect, test } from 'vitest'
import { newDatabaseFile, start } from '../support/process.ts'
import { openCollector, post, track } from '../support.ts'

const ends = [
  { signal: 'SIGKILL', end: [null, 'SIGKILL'] },
  { signal: 'SIGTERM', end: [0, null] },
] as const

test.each(ends)(
  'F119, F124: when $signal ends the process with 100 requests in flight, each event that got 200 is stored, and once if it is sent again',
  async ({ signal, end }) => {
    const store = newDatabaseFile()
    const { child, url, ended } = await start(['--port', '0', '--store', store])
    const batches: Array<{ messageId?: unknown }[]> = []
    const answered: unknown[] = []
    const client = async () => {
      for (;;) {
        const batch = Array.from({ length: 5 }, (_, index) =>
          track({ messageId: `${batches.length}-${index}` }),
        )
        batches.push(batch)
        const response = await post({ url }, '/v1/batch', { batch }).catch(() => undefined)
        if (response === undefined) return
        if (response.status === 200) answered.push(...batch.map(({ messageId }) => messageId))
        // A second signal would end it at once.
        if (answered.length >= 1000 && !child.killed) child.kill(signal)
      }
    }

    await Promise.all(Array.from({ length: 100 }, client))

    expect(await ended).toEqual(end)
    const collector = await openCollector({ store })
    const stored = () => collector.events({ status: 'accepted' }).map(({ messageId }) => messageId)
    const known = new Set<unknown>(stored())
    expect(answered.length).toBeGreaterThanOrEqual(1000)
    expect(answered.filter((id) => !known.has(id))).toEqual([])
    await Promise.all(batches.map((batch) => post(collector, '/v1/batch', { batch })))
    expect(stored().sort()).toEqual(
      batches.flatMap((batch) => batch.map(({ messageId }) => messageId)).sort(),
    )
  },
)
