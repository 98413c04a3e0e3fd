import { EventEmitter } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { newEvent } from '../../src/conformance/new-event.ts'
import { Checkpointer, checkpointThread } from '../../src/store/sqlite/checkpointer.ts'
import { SyncStore } from '../../src/store/sqlite/sync-store.ts'
import { systemClock } from '../../src/system-clock.ts'
import { newDatabaseFile, newFolder } from '../support/process.ts'
import { fakeClock, openCollector, post, track } from '../support.ts'
import { batchOf } from './batch-of.ts'

const nobody = { hold() {}, resume() {} }

test('the WAL is checkpointed while events arrive', async () => {
  const database = newDatabaseFile()
  const faults: unknown[] = []
  const collector = await openCollector({ store: database, onFault: (_what, cause) => faults.push(cause) })
  const size = (file: string) => statSync(file).size
  const send = () => post(collector, '/v1/batch', { batch: Array.from({ length: 1000 }, () => track()) })

  // Sends several batches at a time, so that there is almost always a write in progress.
  let sent = 0
  const sendOn = async () => {
    while (sent < 50) {
      sent++
      expect((await send()).status).toBe(200)
    }
  }
  await Promise.all([sendOn(), sendOn(), sendOn()])

  // Without the checkpoint thread, all data would still be in the WAL.
  await expect.poll(() => size(database)).toBeGreaterThan(0.2 * size(`${database}-wal`))
  expect(collector.count()).toBe(50_000)
  expect(faults).toEqual([])
}, 60_000)

function toldWriter() {
  const told: string[] = []
  return { told, hold: () => void told.push('hold'), resume: () => void told.push('resume') }
}

/** Fakes the checkpoint thread: the test sees the start of every pass over the WAL, and decides how the pass ends. */
function withFakeThread() {
  const writer = toldWriter()
  const clock = fakeClock()
  const threads: Array<EventEmitter & { passes: number }> = []
  const tasks: string[] = []
  const faults: string[] = []
  const newThread = () => {
    const thread = Object.assign(new EventEmitter(), {
      passes: 0,
      ref() {},
      unref() {},
      postMessage(message: string) {
        tasks.push(message)
        if (message === 'pass') thread.passes++
        else if (message === 'close') thread.emit('exit')
      },
    })
    threads.push(thread)
    return thread as unknown as Worker
  }
  const checkpointer = new Checkpointer({ newThread, writer, clock, onFault: (what) => faults.push(what) })
  onTestFinished(() => checkpointer.close())
  /** `committed`: whether there was a commit during the pass. */
  const end = ({ isWhole = true, committed = true, logPages = 49_152 } = {}) => {
    if (committed) checkpointer.committed(1)
    threads.at(-1)?.emit('message', { isWhole, logPages })
  }
  const passes = () => threads.map((thread) => thread.passes)
  return { checkpointer, clock, threads, tasks, faults, told: writer.told, end, passes }
}

test('many small commits start a checkpoint as early as few large ones', () => {
  const { checkpointer, passes } = withFakeThread()

  for (let commit = 0; commit < 640; commit++) checkpointer.committed(1)
  expect(passes()).toEqual([0])
  for (let commit = 0; commit < 40; commit++) checkpointer.committed(1)

  expect(passes()).toEqual([1])
})

test('commits are not paused for a short WAL', () => {
  const { checkpointer, told, end, passes } = withFakeThread()

  for (let checkpoint = 1; checkpoint <= 3; checkpoint++) {
    checkpointer.committed(20_000)
    end({ logPages: 49_151 })
    expect(passes()).toEqual([checkpoint])
  }
  expect(told).toEqual([])

  checkpointer.committed(20_000)
  while (told.length === 0) end({ logPages: 49_152 })
  expect(told).toEqual(['hold'])
  expect(passes()).toEqual([7])
})

test('if a reader uses a short WAL, its checkpoint is not tried again', () => {
  const { checkpointer, clock, end, passes } = withFakeThread()

  checkpointer.committed(20_000)
  end({ isWhole: false, logPages: 1000 })

  expect(passes()).toEqual([1])
  expect(clock.delays()).toEqual([])
})

test('commits are paused only for the last pass of a checkpoint', async () => {
  const writer = toldWriter()
  const database = newDatabaseFile()
  const store = new SyncStore({ path: database, durability: 'process', maxEvents: 1e9 })
  onTestFinished(() => store.close())
  const threads: Worker[] = []
  // The clock stands still during the pause of commits, so only the end of the pass can end the pause, not its time limit.
  const clock = fakeClock()
  const checkpointer = new Checkpointer({
    newThread: () => {
      threads.push(checkpointThread(database))
      return threads.at(-1) as Worker
    },
    writer,
    clock,
    maxLogPages: 1,
    onFault: (what) => writer.told.push(what),
  })
  onTestFinished(() => checkpointer.close())
  let results = 0
  threads[0]?.on('message', () => results++)

  store.commit(batchOf([newEvent('first')]))
  checkpointer.committed(20_000)
  // Nothing is written during the first pass: it copies everything, and commits are not paused.
  await expect.poll(() => results).toBe(1)
  expect(writer.told).toEqual([])

  checkpointer.committed(20_000)
  while (!writer.told.includes('hold')) {
    store.commit(batchOf([newEvent(`m${Math.random()}`)]))
    // If the previous pass was the last of its checkpoint, this starts the next checkpoint.
    checkpointer.committed(20_000)
    // A pass that did not copy everything is repeated after 20 ms.
    clock.advance(20)
    await nextTurn()
  }
  await expect.poll(() => writer.told).toEqual(['hold', 'resume'])

  // The next commit restarts the WAL.
  store.commit(batchOf([newEvent('last')]))
  const [log] = store.database.pragma<{ log: number }>('wal_checkpoint(PASSIVE)')
  expect(log?.log).toBeLessThan(16)
})

test('a pause of commits ends at its time limit, even during a pass, and the next pause may be longer', () => {
  const { checkpointer, clock, told, end } = withFakeThread()
  const holdsMs: number[] = []

  checkpointer.committed(20_000)
  for (let holds = 0; holds < 4; holds++) {
    while (told.at(-1) !== 'hold') end()
    const [holdMs = 0] = clock.delays()
    holdsMs.push(holdMs)
    clock.advance(holdMs - 1)
    expect(told.at(-1)).toBe('hold')
    clock.advance(1)
    expect(told.at(-1)).toBe('resume')
  }
  while (told.at(-1) !== 'hold') end()
  end({ committed: false })
  end({ committed: false })

  expect(holdsMs).toEqual([30, 45, 67.5, 101.25])
  expect(told).toEqual(Array(5).fill(['hold', 'resume']).flat())
  expect(clock.delays()).toEqual([])
})

test('when everything is in the database file, commits continue as soon as no reader uses the WAL', () => {
  const { checkpointer, clock, tasks, told, end } = withFakeThread()

  checkpointer.committed(20_000)
  while (told.at(-1) !== 'hold') end()
  end({ committed: false })
  expect(tasks.slice(-2)).toEqual(['pass', 'empty'])
  expect(told).toEqual(['hold'])
  end({ committed: false })
  expect(told).toEqual(['hold', 'resume'])
  expect(clock.delays()).toEqual([])

  // After a pause that timed out, the next pass runs without a pause, and copies the events that were committed meanwhile.
  checkpointer.committed(20_000)
  while (told.at(-1) !== 'hold') end()
  end({ committed: false })
  clock.advance(30)
  expect(told.slice(2)).toEqual(['hold', 'resume'])
  end()
  expect(tasks.slice(-2)).toEqual(['empty', 'pass'])
})

test('the checkpointer waits for a reader for some time, and then gives up this checkpoint', () => {
  const { checkpointer, clock, told, end, passes } = withFakeThread()

  checkpointer.committed(20_000)
  end({ isWhole: false })
  expect(clock.delays()).toEqual([20])
  clock.advance(20)
  end()
  end()
  expect(told).toEqual(['hold'])
  end({ isWhole: false, committed: false })
  clock.advance(1)
  end({ committed: false })
  end({ committed: false })
  expect(told).toEqual(['hold', 'resume'])
  expect(passes()).toEqual([5])

  checkpointer.committed(20_000)
  for (let pass = 0; pass < 300; pass++) {
    end({ isWhole: false })
    clock.advance(20)
  }
  expect(told.at(-1)).toBe('resume')
  expect(clock.delays()).toEqual([])
  // Only this checkpoint was given up: the next events begin another checkpoint.
  const before = passes()[0] as number
  checkpointer.committed(20_000)
  expect(passes()).toEqual([before + 1])
})

test('when the thread dies, commits continue, the fault is reported, and the next checkpoint starts a new thread', () => {
  const { checkpointer, threads, faults, told, end, passes } = withFakeThread()
  checkpointer.committed(20_000)
  while (told.at(-1) !== 'hold') end()

  threads[0]?.emit('error', new Error('out of memory'))
  threads[0]?.emit('exit')

  expect(told).toEqual(['hold', 'resume'])
  expect(faults).toEqual(['the checkpoint thread ended'])
  expect(threads).toHaveLength(1)
  checkpointer.committed(20_000)
  expect(passes()).toEqual([4, 1])
})

test('checkpoints continue after the thread was killed', async () => {
  const database = newDatabaseFile()
  const store = new SyncStore({ path: database, durability: 'process', maxEvents: 1e9 })
  onTestFinished(() => store.close())
  const threads: Worker[] = []
  const faults: string[] = []
  const newThread = () => {
    threads.push(checkpointThread(database))
    return threads.at(-1) as Worker
  }
  const checkpointer = new Checkpointer({
    newThread,
    writer: nobody,
    clock: systemClock,
    onFault: (what) => faults.push(what),
  })
  onTestFinished(() => checkpointer.close())
  const before = statSync(database).size
  store.commit(batchOf(Array.from({ length: 1000 }, (_, index) => newEvent(`m${index}`))))
  expect(statSync(database).size).toBe(before)

  await threads[0]?.terminate()
  expect(faults).toEqual(['the checkpoint thread ended'])
  checkpointer.committed(20_000)

  await expect.poll(() => statSync(database).size).toBeGreaterThan(before)
  expect(threads).toHaveLength(2)
})

test('a file that the thread cannot open is reported', async () => {
  const faults: string[] = []
  const folder = newFolder()
  const checkpointer = new Checkpointer({
    newThread: () => checkpointThread(join(folder, 'no', 'such.db')),
    writer: nobody,
    clock: systemClock,
    onFault: (what) => faults.push(what),
  })
  onTestFinished(() => checkpointer.close())

  await expect.poll(() => faults).toEqual(['the checkpoint thread ended'])
})
