import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Checkpoint } from '../src/import/checkpoint.ts'
import { Rejects, type RejectsMark } from '../src/import/rejects.ts'
import { createTarget, type State } from '../src/import/state.ts'
import type { PendingLine } from '../src/import/window.ts'
import { newFolder } from './support.ts'

const STYLE = { format: 'ndjson', dialect: { delimiter: ',', isSpaced: false }, header: [] } as const

function refused(line: number): PendingLine {
  return {
    record: { line, nextLine: line + 1, end: line * 10, bytes: Buffer.from(`{"line":${line}}`) },
    messageId: `id-${line}`,
    outcome: 'refused',
    problem: { reason: 'invalid', message: 'no identity' },
  }
}

/** Returns the mark from before line 3, as if no newer state had been saved. */
async function interrupted(path: string): Promise<RejectsMark> {
  const rejects = new Rejects(path, STYLE, undefined)
  rejects.add(refused(1))
  rejects.add(refused(2))
  await rejects.flush()
  const mark = rejects.mark as RejectsMark
  rejects.add(refused(3))
  await rejects.flush()
  await rejects.close()
  return mark
}

const linesOf = (path: string): number[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text).line)

test('lines after the last saved state are removed, since they are imported again', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const mark = await interrupted(path)

  const rejects = new Rejects(path, STYLE, mark)
  rejects.add(refused(3))
  await rejects.flush()
  await rejects.close()

  expect(linesOf(path)).toEqual([1, 2, 3])
})

test('nothing is removed from a file that was edited in the meantime', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const mark = await interrupted(path)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"line":1', '"line":10'))
  appendFileSync(path, '{"line":11}\n')

  const rejects = new Rejects(path, STYLE, mark)
  rejects.add(refused(4))
  await rejects.flush()
  await rejects.close()

  expect(linesOf(path)).toEqual([10, 2, 3, 11, 4])
})

test('a rejects file that was removed is created again', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const mark = { path, bytes: 100, sha256: 'x' }

  const rejects = new Rejects(path, STYLE, mark)
  expect(existsSync(path)).toBe(false)
  rejects.add(refused(4))
  await rejects.flush()
  await rejects.close()

  expect(linesOf(path)).toEqual([4])
})

test('if an import is killed while it saves its first refused lines, the next one does not write them twice', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const statePath = `${path}.state`
  const states: State[] = []
  class Watched extends Rejects {
    override async flush(): Promise<void> {
      states.push(JSON.parse(readFileSync(statePath, 'utf8')))
      await super.flush()
    }
  }
  const rejects = new Watched(path, STYLE, undefined)
  const setting = { version: 1, format: 'ndjson', fingerprint: null, target: createTarget('a', 'b') } as const
  let frontier = { offset: 0, line: 1 }
  const read = () => ({ ...frontier, delivered: 0, refused: 0 })
  const checkpoint = new Checkpoint(statePath, rejects, setting, read, (problem) => {
    throw problem
  })
  writeFileSync(statePath, '{}')
  await checkpoint.start()
  rejects.add(refused(1))
  frontier = { offset: 10, line: 2 }
  await checkpoint.finish(false)

  // This state was saved before the rejects file existed, but names the file.
  const [, before] = states as [State, State]
  expect(before).toMatchObject({ offset: 0, line: 1, rejects: { path, bytes: 0 } })
  const again = new Rejects(path, STYLE, before.rejects ?? undefined)
  again.add(refused(1))
  await again.flush()
  await again.close()
  expect(linesOf(path)).toEqual([1])
})

test('a line that is refused during the first save is in the file once', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const statePath = `${path}.state`
  let frontier = { offset: 0, line: 1 }
  class Refusing extends Rejects {
    override get isBeginning(): boolean {
      if (super.isBeginning) {
        this.add(refused(2))
        frontier = { offset: 20, line: 3 }
      }
      return super.isBeginning
    }
  }
  const rejects = new Refusing(path, STYLE, undefined)
  const setting = { version: 1, format: 'ndjson', fingerprint: null, target: createTarget('a', 'b') } as const
  const read = () => ({ ...frontier, delivered: 0, refused: 0 })
  const checkpoint = new Checkpoint(statePath, rejects, setting, read, (problem) => {
    throw problem
  })
  await checkpoint.start()
  rejects.add(refused(1))
  frontier = { offset: 10, line: 2 }

  await checkpoint.finish(false)

  // If the import were killed now, it would continue after the lines that are already in the rejects file.
  const state = JSON.parse(readFileSync(statePath, 'utf8')) as State
  expect(state).toMatchObject({ line: 3, rejects: { bytes: readFileSync(path).length } })
  expect(linesOf(path)).toEqual([1, 2])
})

test('after the last save of an import, no other one follows a save that was under way', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const path = join(newFolder(), 'rejects.ndjson')
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let flushes = 0
  class Slow extends Rejects {
    override async flush(): Promise<void> {
      if (++flushes === 2) await gate
    }
  }
  const setting = { version: 1, format: 'ndjson', fingerprint: null, target: createTarget('a', 'b') } as const
  const read = () => ({ offset: 0, line: 1, delivered: 1, refused: 0 })
  const checkpoint = new Checkpoint(
    `${path}.state`,
    new Slow(path, STYLE, undefined),
    setting,
    read,
    () => {},
  )
  await checkpoint.start()
  await vi.advanceTimersByTimeAsync(1_000)
  const finished = checkpoint.finish(true)
  release()
  await finished
  await vi.advanceTimersByTimeAsync(5_000)

  expect([flushes, vi.getTimerCount()]).toEqual([3, 0])
  expect(JSON.parse(readFileSync(`${path}.state`, 'utf8'))).toMatchObject({ isDone: true })
})
