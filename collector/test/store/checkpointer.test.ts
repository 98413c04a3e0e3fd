import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Checkpointer } from '../../src/store/sqlite/checkpointer.ts'
import { Store } from '../../src/store/sqlite/store.ts'
import { openCollector, post, track } from '../support.ts'
import { newEvent } from './new-event.ts'

const nobody = { hold() {}, resume() {} }

test('the log is folded into the file while events come in, and stays small', async () => {
  const database = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
  const faults: unknown[] = []
  const collector = await openCollector({ database, onFault: (_what, cause) => faults.push(cause) })
  const size = (file: string) => statSync(file).size
  const send = () => post(collector, '/v1/batch', { batch: Array.from({ length: 1000 }, () => track()) })

  // Several at a time, so that there is hardly a moment in which nobody writes.
  let sent = 0
  let largest = 0
  const sendOn = async () => {
    while (sent < 80) {
      sent++
      expect((await send()).status).toBe(200)
      largest = Math.max(largest, size(`${database}-wal`))
    }
  }
  await Promise.all([sendOn(), sendOn(), sendOn()])

  // Without checkpoints that come to an end it would be as large as all that was written.
  await expect.poll(() => size(database)).toBeGreaterThan(1.3 * largest)
  expect(collector.count()).toBe(80_000)
  expect(faults).toEqual([])
}, 60_000)

test('commits are held up only for the last pass, and go on after it whatever it came to', async () => {
  const told: string[] = []
  const writer = { hold: () => void told.push('hold'), resume: () => void told.push('resume') }
  const database = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
  const store = new Store({ path: database, durability: 'process', maxEvents: 1e9 })
  onTestFinished(() => store.close())
  const checkpointer = new Checkpointer(database, writer, (what) => told.push(what))
  onTestFinished(() => checkpointer.close())

  store.commit([newEvent('first')])
  checkpointer.committed(20_000)
  // Nothing is written meanwhile: the first pass takes everything, and nobody is held up.
  await expect.poll(() => told).toEqual(['resume'])

  checkpointer.committed(20_000)
  while (!told.includes('hold')) {
    store.commit([newEvent(`m${Math.random()}`)])
    checkpointer.committed(1)
    await nextTurn()
  }
  await expect.poll(() => told).toEqual(['resume', 'hold', 'resume'])
})

test('a file that cannot be opened by the thread is told', async () => {
  const faults: string[] = []
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-collector-'))
  const checkpointer = new Checkpointer(join(folder, 'no', 'such.db'), nobody, (what) => faults.push(what))
  onTestFinished(() => checkpointer.close())

  await expect.poll(() => faults).toEqual(['the checkpoint thread ended'])
})
