import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, inject, onTestFinished } from 'vitest'
import { start } from '../../../collector/test/support/process.ts'
import { post, track } from '../../../collector/test/support.ts'
import { holdPort } from '../../../test/support/held-port.ts'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { natsProgram, natsTest } from '../support/nats.ts'
import { serverUser } from '../support/postgres.ts'
import { documented } from './documented.ts'

const bin = findPostgres()
const servers = inject('postgresPort') === null || bin === undefined ? natsTest.skip : natsTest

servers(
  'four commands start PostgreSQL and NATS without Docker, and two more start a front and a worker',
  async () => {
    const user = serverUser()
    const folder = mkdtempSync(join(tmpdir(), 'trackpost-servers-'))
    chmodSync(folder, 0o755)
    if ('uid' in user) chownSync(folder, user.uid as number, user.gid as number)
    const held = [await holdPort(), await holdPort()] as const
    onTestFinished(() => {
      for (const port of held) port.release()
    })
    const ports = { postgres: String(held[0].port), nats: String(held[1].port) }
    const commands = documented('**Without Docker**', {
      'trackpost-data': join(folder, 'data'),
      '-p 5432': `-p ${ports.postgres}`,
      '--port=5432': `--port=${ports.postgres}`,
      '--port=4222': `--port=${ports.nats}`,
    })
    expect(commands.trim().split('\n')).toHaveLength(4)
    const PATH = `${bin}:${dirname(natsProgram ?? '')}:${process.env['PATH']}`

    // `wait` keeps the shell open for its background processes, as a terminal would.
    const shell = spawn('sh', ['-e', '-c', `mkdir data\n${commands}wait`], {
      ...user,
      cwd: folder,
      env: { ...process.env, PATH },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => endAll(shell, join(folder, 'data', 'postgres')))
    let said = ''
    for (const stream of [shell.stdout, shell.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (said += text))
    await expect.poll(() => said).toContain('Server is ready')

    const both = documented('Then a front and a worker', {
      ':4222': `:${ports.nats}`,
      ':5432': `:${ports.postgres}`,
    })
    const [front, worker] = await Promise.all(
      both
        .trim()
        .split('\n')
        .map((line) => {
          const [program, ...args] = line
            .replace(/ &$/, '')
            .replace(/--port \d+/, '--port 0')
            .split(' ')
          expect(program).toBe('trackpost-collector')
          return start(args)
        }),
    )
    expect(
      (await post({ url: front?.url ?? '' }, '/v1/track', track({ event: 'Without Docker' }))).status,
    ).toBe(200)
    const found = async () => (await fetch(`${worker?.url}/api/count?q=event:"Without+Docker"`)).json()
    await expect.poll(found).toMatchObject({ count: 1 })
    for (const collector of [front, worker]) {
      collector?.child.kill('SIGTERM')
      expect(await collector?.ended).toEqual([0, null])
    }
  },
)

/** PostgreSQL has left the process group of the shell, so the test ends it by the id in its pid file. */
async function endAll(shell: ChildProcess, data: string): Promise<void> {
  const ended = shell.exitCode === null && shell.signalCode === null ? once(shell, 'exit') : undefined
  if (shell.pid !== undefined && ended !== undefined) process.kill(-shell.pid, 'SIGKILL')
  await ended
  try {
    const [pid = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGQUIT')
  } catch {
    // PostgreSQL did not start.
  }
}
