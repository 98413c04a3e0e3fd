import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Checkpointer } from '../../src/store/sqlite/checkpointer.ts'
import { Store } from '../../src/store/sqlite/store.ts'
import { openCollector, post, track } from '../support.ts'

test('the log is folded into the file while events come in, and stays small', async () => {
  const database = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
  const faults: unknown[] = []
  const finish = vi.spyOn(Store.prototype, 'checkpoint')
  onTestFinished(() => finish.mockRestore())
  const collector = await openCollector({ database, onFault: (_what, cause) => faults.push(cause) })
  const size = (file: string) => statSync(file).size

  let sent = 0
  const send = async () => {
    await post(collector, '/v1/batch', { batch: Array.from({ length: 1000 }, () => track()) })
    sent += 1000
  }
  while (sent < 10_000) await send()

  // The file grows while the thread is at it; the log is at its end only when the remainder was folded in as well.
  await expect.poll(() => finish.mock.results.map(({ type }) => type)).toEqual(['return'])
  expect(size(database)).toBeGreaterThan(3_000_000)
  const logBytes = size(`${database}-wal`)
  // From here on it is written from its beginning again.
  await send()
  await send()
  expect(size(`${database}-wal`)).toBe(logBytes)
  expect(faults).toEqual([])
})

test('a file that cannot be opened by the thread is told', async () => {
  const faults: string[] = []
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-collector-'))
  const checkpointer = new Checkpointer(
    join(folder, 'no', 'such.db'),
    () => {},
    (what) => faults.push(what),
  )
  onTestFinished(() => checkpointer.close())

  await expect.poll(() => faults).toEqual(['the checkpoint thread ended'])
})
