/** Events that are tracked in `beforeExit`, when the event loop is empty, on each runtime that has processes. */
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createProject, type Project, REPOSITORY } from '../package/project.ts'
import type { Loopback } from '../support/loopback.ts'
import { runtime } from '../support/runtimes.ts'
import { startService } from '../support/service.ts'

let project: Project
let api: Loopback
let received: string[]

beforeAll(async () => {
  project = await createProject()
  await cp(join(REPOSITORY, 'test/runtimes/scenario'), join(project.folder, 'scenario'), { recursive: true })
  api = await startService<{ event: string }>(({ batch }) => {
    received.push(...batch.map(({ event }) => event))
    return 200
  })
})
beforeEach(() => {
  received = []
})
afterAll(async () => {
  await Promise.all([api?.close(), project?.remove()])
})

/** A program that does not end within 100 s fails the test. */
function run(binary: string, mode: string): Promise<{ outcomes: string[]; stderr: string }> {
  const args = binary === 'deno' ? ['run', '--allow-net', '--allow-env', '--node-modules-dir=manual'] : []
  const options = { cwd: project.folder, timeout: 100_000, env: { PATH: '/usr/bin:/bin', NO_COLOR: '1' } }
  const program = [...args, 'scenario/exit.mjs', api.url, mode]
  return new Promise((resolve, reject) => {
    execFile(runtime(binary), program, options, (error, stdout, stderr) => {
      if (error !== null) reject(new Error(`${error.message}\n${stdout}\n${stderr}`))
      else resolve({ outcomes: stdout.split('\n').filter(Boolean), stderr })
    })
  })
}

describe.each(['node-16', 'node-20', 'node-22', 'node-24', 'node-26', 'bun', 'deno'])('on %s', (binary) => {
  test.each(['once', 'behind a promise'])(
    'an event tracked in a beforeExit listener, %s, is delivered',
    async (mode) => {
      const { outcomes, stderr } = await run(binary, mode)

      const events = mode === 'once' ? ['Script Ended'] : ['Script Started', 'Script Ended']
      expect(received).toEqual(events)
      expect({ outcomes, stderr }).toEqual({ outcomes: events.map(() => 'delivered'), stderr: '' })
    },
  )

  test('process.exit() in a callback: nobody else is called, and the counts are right at exit', async () => {
    const { outcomes, stderr } = await run(binary, 'in a callback')

    expect(outcomes).toEqual(['delivered', 'at exit: 10 accepted, 10 delivered, 0 failed, 0 pending'])
    expect(stderr).toBe('')
  })

  test('process.exit() with events that wait: one line says how many are lost', async () => {
    const { outcomes, stderr } = await run(binary, 'at once')

    expect(outcomes).toEqual(['at exit: 10 accepted, 0 delivered, 10 failed, 0 pending'])
    expect(stderr.trim()).toBe('trackpost: 10 events were lost, because the process ended')
  })
})
