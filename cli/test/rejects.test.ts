import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Rejects, type RejectsMark } from '../src/import/rejects.ts'
import type { PendingLine } from '../src/import/window.ts'
import { newFolder } from './support.ts'

const STYLE = { format: 'ndjson', delimiter: ',', header: [] } as const

function refused(line: number): PendingLine {
  return {
    record: { line, nextLine: line + 1, end: line * 10, bytes: Buffer.from(`{"line":${line}}`) },
    messageId: `id-${line}`,
    outcome: 'refused',
    problem: { reason: 'invalid', message: 'no identity' },
  }
}

/** Refuses lines 1 and 2, and then 3, which no state knows of. */
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

test('what no state knows of is taken off, since it comes again', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const mark = await interrupted(path)

  const rejects = new Rejects(path, STYLE, mark)
  rejects.add(refused(3))
  await rejects.flush()
  await rejects.close()

  expect(linesOf(path)).toEqual([1, 2, 3])
})

test('a file that has been edited since is only added to', async () => {
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

test('a file that has been taken away begins anew', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const mark = { path, bytes: 100, sha256: 'x' }

  const rejects = new Rejects(path, STYLE, mark)
  expect(existsSync(path)).toBe(false)
  rejects.add(refused(4))
  await rejects.flush()
  await rejects.close()

  expect(linesOf(path)).toEqual([4])
})

test('nothing is created as long as nothing was refused', async () => {
  const path = join(newFolder(), 'rejects.ndjson')
  const rejects = new Rejects(path, STYLE, undefined)
  await rejects.flush()

  expect([existsSync(path), rejects.mark]).toEqual([false, undefined])
})
