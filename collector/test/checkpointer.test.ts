import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Checkpointer } from '../src/checkpointer.ts'
import { openCollector, post, track } from './support.ts'

test('the log is folded into the file while events come in, and stays small', async () => {
  const database = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
  const faults: unknown[] = []
  const collector = await openCollector({ database, onFault: (_what, cause) => faults.push(cause) })
  const size = (file: string) => statSync(file).size

  let sent = 0
  const send = async () => {
    await post(collector, '/v1/batch', { batch: Array.from({ length: 1000 }, () => track()) })
    sent += 1000
  }
  while (sent < 10_000) await send()

  await expect.poll(() => size(database)).toBeGreaterThan(3_000_000)
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
