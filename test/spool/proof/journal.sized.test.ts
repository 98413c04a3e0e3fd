/** Real processes with a journal die, on real disks, and the next ones take over what they have left (docs/faults.md, section 1.7). */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'
import { type Running, startProgram } from '../../support/program.ts'
import { temporaryDirectory } from '../support.ts'

const ROUNDS = process.env['TEST_FULL'] === '1' ? 200 : 25
const CHILD = fileURLToPath(new URL('./journal-child.mjs', import.meta.url))
const SOURCES = fileURLToPath(new URL('../../../src', import.meta.url))

const children: Running[] = []
let module: string
let home: string
let directory: string

beforeAll(async () => {
  module = join(fileURLToPath(new URL('../../../.cache', import.meta.url)), `journal-${process.pid}.mjs`)
  const contents = `export { FileJournal } from './spool/journal.ts'\nexport { systemClock } from './runtime/clock.ts'`
  await build({
    stdin: { contents, resolveDir: SOURCES, loader: 'ts' },
    ...{ bundle: true, format: 'esm', platform: 'node', outfile: module, logLevel: 'silent' },
  })
})
afterAll(() => rmSync(module, { force: true }))
beforeEach(() => {
  home = temporaryDirectory()
  directory = join(home, 'events')
})
afterEach(async () => {
  for (const { child, ended } of children.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

function start(mode: string, name: string, args: readonly string[] = [], folder = directory): Running {
  const running = startProgram(process.execPath, [...args, CHILD, module, folder, mode, name], {
    env: process.env,
  })
  children.push(running)
  return running
}

/** The ids that a new process takes over. */
async function take(folder = directory): Promise<string[]> {
  const { code, stdout, stderr } = await start('take', 'heir', [], folder).ended
  // A process that is killed while it writes leaves a torn line, which was not kept yet.
  expect(code).toBe(0)
  expect(stderr).toMatch(/^(?:1 line of .*\n)*$/)
  return JSON.parse(stdout) as string[]
}

/** What a writer has told: how many messages it has appended, and which of these have their outcome. */
function told({ stdout }: { stdout: string }): { kept: number; settled: Set<number> } {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1)
  const kept = [...whole.matchAll(/^kept (\d+)$/gm)].at(-1)?.[1]
  return {
    kept: Number(kept ?? 0),
    settled: new Set([...whole.matchAll(/^settled (\d+)$/gm)].map(([, id]) => Number(id))),
  }
}

/** Random numbers in [0, 1), the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

test(`F88: no message is lost in ${ROUNDS} deaths by SIGKILL at any moment, and all files are gone in the end`, async () => {
  const random = createRandom(7)
  const counts = { kept: 0, open: 0, taken: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const writer = start('write', `r${round}`)
    await writer.prints(/kept/)
    const after = random() * 3_000
    while (told({ stdout: writer.stdout() }).kept < after)
      await new Promise((resolve) => setImmediate(resolve))
    writer.child.kill('SIGKILL')
    const { kept, settled } = told(await writer.ended)

    const taken = new Set(await take())

    const open = Array.from({ length: kept }, (_, index) => index + 1).filter((id) => !settled.has(id))
    expect(open.filter((id) => !taken.has(`r${round}-${id}`))).toEqual([])
    expect(readdirSync(directory)).toEqual([])
    counts.kept += kept
    counts.open += open.length
    counts.taken += taken.size
  }
  console.log(`${counts.kept} appended, ${counts.open} without an outcome, ${counts.taken} taken over`)
  expect(counts.open).toBeGreaterThan(ROUNDS * 100)
}, 1_800_000)

test('F94: eight processes write to one folder and die, and three that start together take over each message once', async () => {
  const writers = Array.from({ length: 8 }, (_, index) => start('write', `p${index}`))
  await Promise.all(writers.map((writer) => writer.prints(/kept \d{4}/)))
  for (const { child } of writers) child.kill('SIGKILL')
  const ends = await Promise.all(writers.map(({ ended }) => ended))

  const taken = (await Promise.all([take(), take(), take()])).flat()

  const all = new Set(taken)
  expect(taken).toHaveLength(all.size)
  ends.map(told).forEach(({ kept, settled }, index) => {
    const open = Array.from({ length: kept }, (_, id) => id + 1).filter((id) => !settled.has(id))
    expect(open.filter((id) => !all.has(`p${index}-${id}`))).toEqual([])
  })
  expect(readdirSync(directory)).toEqual([])
})

test('a process that runs keeps its files from others', async () => {
  const writer = start('write', 'alive')
  await writer.prints(/kept \d{4}/)

  expect(await take()).toEqual([])

  writer.child.kill('SIGKILL')
  await writer.ended
  expect((await take()).length).toBeGreaterThan(0)
})

/** The signal or the exit code of each death. */
const DEATHS = { kill: 'SIGKILL', throw: 1, exit: 0, memory: 'SIGABRT', thread: 0 }

test.each(Object.entries(DEATHS))('a message survives the death by %s', async (mode, end) => {
  const { code, signal } = await start(mode, mode, ['--max-old-space-size=32']).ended
  expect(signal ?? code).toBe(end)

  expect(await take()).toEqual([`${mode}-1`])
})

test(`F90: files that are cut, and garbage in them, cost only what they hit, in ${ROUNDS} rounds`, async () => {
  const random = createRandom(11)
  for (let round = 0; round < ROUNDS; round++) {
    const writer = start('write', 'w')
    await writer.prints(/kept \d{3}/)
    writer.child.kill('SIGKILL')
    await writer.ended
    const paths = readdirSync(directory)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => join(directory, name))
    const path = paths[Math.floor(random() * paths.length)] as string
    const { size } = statSync(path)
    if (round % 2 === 0) truncateSync(path, Math.floor(size * random()))
    else writeFileSync(path, Buffer.alloc(1 + Math.floor(random() * 300), 0xff), { flag: 'a' })
    const clean = paths.filter((one) => one !== path)
    const lines = clean.map((one) => execFileSync('wc', ['-l', one]).toString().split(' ')[0])

    const { code, stdout, stderr } = await start('take', 'heir').ended

    expect(code).toBe(0)
    expect((JSON.parse(stdout) as string[]).length).toBeGreaterThanOrEqual(
      lines.reduce((sum, count) => sum + Number(count), 0),
    )
    if (round % 2 === 1) expect(stderr).toContain('1 line of')
    expect(readdirSync(directory)).toEqual([])
  }
}, 1_800_000)

test('F93: a folder that is deleted under a process costs it nothing, and what comes later is kept', async () => {
  const writer = start('write', 'w')
  await writer.prints(/kept \d{3}/)
  renameSync(directory, `${directory}-gone`)
  rmSync(`${directory}-gone`, { recursive: true, maxRetries: 100, retryDelay: 1 })
  const before = told({ stdout: writer.stdout() }).kept
  while (told({ stdout: writer.stdout() }).kept < before + 3_000)
    await new Promise((resolve) => setImmediate(resolve))
  writer.child.kill('SIGKILL')
  const end = await writer.ended
  const { kept, settled } = told(end)

  const taken = new Set(await take())

  const later = Array.from({ length: 500 }, (_, index) => kept - index).filter((id) => !settled.has(id))
  expect(later.filter((id) => !taken.has(`w-${id}`))).toEqual([])
  expect(end.stderr.match(/its files were removed/g)).toHaveLength(1)
})

const IS_ROOT = process.getuid?.() === 0
/** Mounts a disk of 1 MB, which only root may do. */
function mount(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0700', 'tmpfs', path], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

test.skipIf(!IS_ROOT)(
  'F91: on a disk of 1 MB, what was kept until it was full is taken over, with one warning',
  async (context) => {
    const disk = join(home, 'disk')
    if (!mount(disk)) return context.skip('a file system cannot be mounted here')
    try {
      const folder = join(disk, 'events')
      const { stdout, stderr } = await start('fill', 'f', [], folder).ended
      const { kept, isSafe } = JSON.parse(stdout) as { kept: number; isSafe: boolean }
      expect(stderr).toMatch(/^the spool cannot keep events, which wait in memory alone: .*ENOSPC.*\n$/)
      expect({ isSafe, isMany: kept > 1_000 }).toEqual({ isSafe: true, isMany: true })

      const taken = await take(folder)

      expect(taken).toEqual(Array.from({ length: kept }, (_, index) => `f-${index + 1}`))
      expect(readdirSync(folder)).toEqual([])
    } finally {
      execFileSync('umount', [disk])
    }
  },
)

test.runIf(TIER === 'default' && !IS_ROOT)('(a full disk needs root)', (context) => context.skip('not root'))
