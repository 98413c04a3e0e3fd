/** Tests the spool where platforms differ: permission model, worker threads, the end of a process, Deno. */
import { type ChildProcess, execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createProject, type Project, REPOSITORY } from '../package/project.ts'
import type { Loopback } from '../support/loopback.ts'
import { type Running, startProgram } from '../support/program.ts'
import { runtime, skip } from '../support/runtimes.ts'
import { startService } from '../support/service.ts'

let project: Project
let api: Loopback
let directory: string
let isDown: boolean
let received: string[]
let running: ChildProcess[]

beforeAll(async () => {
  project = await createProject()
  await cp(join(REPOSITORY, 'test/runtimes/scenario'), join(project.folder, 'scenario'), { recursive: true })
  api = await startService<{ event: string }>(({ batch }) => {
    if (!isDown) received.push(...batch.map(({ event }) => event))
    return isDown ? 503 : 200
  })
})
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'trackpost-spool-'))
  isDown = true
  received = []
  running = []
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})
afterAll(async () => {
  await Promise.all([api?.close(), project?.remove()])
})

const program = (mode: string): string[] => [
  join(project.folder, 'scenario/spool.mjs'),
  api.url,
  directory,
  mode,
]

function start(binary: string, args: readonly string[], mode?: string): Running {
  const { folder } = project
  const life = startProgram(binary, [...args, ...(mode === undefined ? [] : program(mode))], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', HOME: folder, NO_COLOR: '1' },
  })
  running.push(life.child)
  return life
}

/** Starts a process that delivers the `count` events left in the directory. Returns the names of all received events. */
async function deliverLeft(count: number): Promise<string[]> {
  isDown = false
  const next = start(process.execPath, [], `deliver ${count}`)
  expect(await next.line()).toBe('delivered')
  await next.ended
  return received.sort()
}

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index + 1}`).sort()

test('F149: on a disk that is full, the next process starts, delivers what is there, and so frees the disk', async () => {
  const life = start(process.execPath, [], 'burst 200')
  expect(await life.line()).toBe('stored true')
  life.child.kill('SIGKILL')
  await life.ended
  isDown = false
  const [node, scenario, url, left] = [process.execPath, ...program('')] as string[]
  const disk = mkdtempSync(join(tmpdir(), 'trackpost-disk-'))
  const steps = `
    mount -t tmpfs -o size=2m none ${disk} || exit 77
    cp -r ${left} ${disk}/spool
    dd if=/dev/zero of=${disk}/rest bs=4k 2>/dev/null
    echo free $(df --output=avail ${disk} | tail -1)
    ${node} ${scenario} ${url} ${disk}/spool 'deliver 200'
    echo left $(find ${disk}/spool -name '*.jsonl' | wc -l)`
  // A file system of the test's own; not every machine lets it have one.
  const { stdout, stderr } = await promisify(execFile)('unshare', ['-rm', 'sh', '-c', steps], {
    cwd: project.folder,
  }).catch((error) => error)
  rmSync(disk, { recursive: true })
  if (!/^free/.test(stdout ?? '')) skip(`no file system can be mounted: ${stderr}`)

  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual(['free 0', 'delivered', 'left 0'])
  expect(received.sort()).toEqual(numbered('Burst', 200))
})

describe('under the permission model of Node.js', () => {
  test.each([
    ['node-20', '--experimental-permission'],
    ['node-24', '--permission'],
    ['node-26', '--permission'],
  ])('on %s, SIGKILL loses nothing; denied operations are reported once', async (name, flag) => {
    const grants = ['--allow-fs-read=*', `--allow-fs-write=${directory}/*`]
    // From Node.js 25 on, the network also needs a permission.
    const net = name === 'node-26' ? ['--allow-net'] : []
    const life = start(runtime(name), [flag, ...grants, ...net], 'burst 200')

    expect(await life.line()).toBe('stored true')
    // The program has synced again: there must still be only one report.
    expect(await life.line()).toBe('stored true')
    await life.prints('denies fsync')
    life.child.kill('SIGKILL')
    const { stderr } = await life.ended

    expect(stderr.match(/denies fsync/g)).toHaveLength(1)
    expect(stderr).not.toContain('cannot keep')
    expect(await deliverLeft(200)).toEqual(numbered('Burst', 200))
  })

  test.each([
    ['node-20', '--experimental-permission'],
    ['node-24', '--permission'],
    ['node-26', '--permission'],
  ])('on %s, the constructor refuses a directory that the process may not write to', async (name, flag) => {
    const { code, stderr } = await start(runtime(name), [flag, '--allow-fs-read=*'], 'burst 1').ended

    expect(code).toBe(1)
    expect(stderr).toMatch(/spool: .* cannot be used: it needs --allow-fs-write/)
  })
})

describe.each(['node-16', 'node-20', 'node-26', 'bun'])('worker threads, on %s', (name) => {
  test('events of a terminated thread are adopted while its process lives', async () => {
    const life = start(runtime(name), [], 'thread')
    expect(await life.line()).toBe('thread stored')

    // The thread has ended, but its process still runs. Only a lock that was not touched for 90 s shows that its
    // owner is dead, so the test makes the lock older.
    const silentSince = Date.now() / 1_000 - 91
    const locks = readdirSync(directory).filter((file) => file.endsWith('.lock'))
    expect(locks).toHaveLength(1)
    for (const lock of locks) utimesSync(join(directory, lock), silentSince, silentSince)
    isDown = false
    life.child.kill('SIGUSR2')

    expect(await life.line()).toBe('delivered')
    // The thread's own request may arrive late, when the service is up: what it has in flight is sent again.
    expect([...new Set(received)].sort()).toEqual(numbered('Thread', 50))
  })
})

describe.each(['node-16', 'node-20', 'node-26', 'bun', 'deno'])('the end of a process, on %s', (name) => {
  const args = name === 'deno' ? ['run', '-A', '--node-modules-dir=manual'] : []
  test.each(['exit', 'throw'])(
    'events from exit listeners that were added before the client are kept: %s',
    async (how) => {
      const { code, stderr } = await start(runtime(name), args, `listener ${how}`).ended

      expect(code).toBe(how === 'exit' ? 3 : 1)
      // A Deno program that throws ends without calling its exit listeners.
      if (name === 'deno' && how === 'throw') return
      expect(await deliverLeft(2)).toEqual(['Added Before', 'Tracked'])
      // The client is closed by then, which is told.
      expect(stderr.match(/1 event was lost, because the process ended/g)).toHaveLength(2)
    },
  )

  test.each(['listener', 'callback', 'handler'])(
    'process.exit() at the end of a turn, in a %s, keeps the events of this turn',
    async (where) => {
      expect((await start(runtime(name), args, `early ${where}`).ended).code).toBe(3)

      expect(await deliverLeft(5)).toEqual(numbered('Early', 5))
    },
  )
})

describe('Deno', () => {
  const rights = (): string[] => [
    'run',
    `--allow-read=${project.folder},${directory}`,
    `--allow-write=${directory}`,
    '--allow-net',
    '--allow-env',
    '--node-modules-dir=manual',
  ]

  test('works without a terminal, with the permissions of the guide', async () => {
    const life = start(runtime('deno'), rights(), 'burst 20')

    expect(await life.line()).toBe('stored true')
    life.child.kill('SIGKILL')
    const { stderr } = await life.ended

    expect(stderr).toBe('')
    for (const file of readdirSync(directory)) {
      // Deno has no access to the process table here, so the owner of a lock counts as dead only when the lock is old.
      if (file.endsWith('.lock')) utimesSync(join(directory, file), 0, 0)
    }
    expect(await deliverLeft(20)).toEqual(numbered('Burst', 20))
  })

  test('asks for no permission in a terminal', async () => {
    try {
      execFileSync('script', ['--version'])
    } catch {
      skip('the command `script`, which provides a terminal, is not installed')
    }
    const command = [runtime('deno'), ...rights(), ...program('burst 20')]
      .map((word) => `'${word}'`)
      .join(' ')
    const life = start('script', ['-qec', command, '/dev/null'])
    const seen: string[] = []
    for (;;) {
      seen.push(await life.line())
      if (/stored|permission|Allow/i.test(seen.at(-1) ?? '')) break
    }

    expect(seen).toEqual(['stored true'])
  })
})
