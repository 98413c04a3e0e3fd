import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { holdPort } from '../../test/support/held-port.ts'
import { natsProgram, natsTest } from './support/nats.ts'
import { hasPostgres, startPostgres } from './support/postgres.ts'
import { until } from './support/stream.ts'

const bothTest = hasPostgres ? natsTest : test.skip
const root = fileURLToPath(new URL('../../', import.meta.url))
const guide = readFileSync(join(root, 'docs/cluster.md'), 'utf8')

/** The first block of commands after a text of the guide. */
function commandsAfter(text: string): string {
  const start = guide.indexOf(text)
  expect(start, text).toBeGreaterThan(0)
  return /```sh\n([\s\S]*?)```/.exec(guide.slice(start))?.[1] ?? ''
}

function replaced(commands: string, texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts).reduce((result, [text, other]) => {
    expect(result).toContain(text)
    return result.replaceAll(text, other)
  }, commands)
}

function inShell(commands: string, cwd: string): { child: ChildProcess; said: () => string } {
  const programs = join(cwd, 'bin')
  const child = spawn('sh', ['-c', `${commands}\nwait`], {
    cwd,
    env: {
      ...process.env,
      PATH: [programs, dirname(natsProgram ?? ''), process.env['PATH']].join(delimiter),
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    const ended = once(child, 'close')
    process.kill(-(child.pid ?? 0), 'SIGKILL')
    await ended
  })
  return { child, said: () => said }
}

bothTest(
  'four commands build a cluster, and a debugger shows its stream',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trackpost-guide-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(join(folder, 'bin'))
    for (const [name, path] of [
      ['trackpost-cluster', 'cluster'],
      ['trackpost-collector', 'collector'],
    ] as const) {
      const file = join(root, path, 'bin', `${name}.js`)
      writeFileSync(join(folder, 'bin', name), `#!/bin/sh\nexec ${process.execPath} ${file} "$@"\n`, {
        mode: 0o755,
      })
    }
    const postgres = await startPostgres()
    onTestFinished(() => postgres.close())
    const database = await postgres.newDatabase()
    const held = [await holdPort(), await holdPort(), await holdPort()] as const
    onTestFinished(() => {
      for (const port of held) port.release()
    })
    const [nats, front, debug] = held.map(({ port }) => String(port)) as [string, string, string]
    const commands = commandsAfter('These four commands')
    expect(commands.trim().split('\n')).toHaveLength(4)

    const { said } = inShell(
      replaced(commands, {
        '--port=4222': `--port=${nats}`,
        '127.0.0.1:4222': `127.0.0.1:${nats}`,
        'postgres://trackpost:secret@127.0.0.1:5432/trackpost': database,
        '--port 8787': `--port ${front}`,
        '127.0.0.1:8787': `127.0.0.1:${front}`,
        // The machine of a test may be slow, and the options of the guide give up after some seconds.
        '--retry 5': '--retry 100 --retry-delay 1',
      }),
      folder,
    )
    const client = new pg.Client({ connectionString: database })
    client.on('error', () => {})
    await client.connect()
    onTestFinished(() => client.end())
    const events = async () =>
      (await client.query('SELECT event FROM events').catch(() => ({ rows: [] }))).rows.map(
        ({ event }) => event,
      )
    await until(async () => (await events()).length > 0)
    expect(await events(), said()).toEqual(['Signed up'])

    const debugger_ = inShell(
      replaced(commandsAfter('To watch the stream live'), {
        '127.0.0.1:4222': `127.0.0.1:${nats}`,
        '--port 8786': `--port ${debug} --store :memory:`,
      }),
      folder,
    )
    const send = async (body: object) => {
      const headers = { 'content-type': 'application/json', authorization: `Basic ${btoa('key:')}` }
      const response = await fetch(`http://127.0.0.1:${front}/v1/track`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      expect(response.status).toBe(200)
    }
    const shown = async () => {
      const response = await fetch(`http://127.0.0.1:${debug}/api/events`).catch(() => undefined)
      if (response === undefined) return ''
      return response.text()
    }
    await until(async () => {
      await send({ userId: 'ada', event: 'Watched' })
      await send({ userId: 'ada' })
      return (await shown()).includes('Watched')
    })
    await until(async () => (await shown()).includes('no_event'))
    expect(debugger_.said()).not.toContain('rror')
  },
  300_000,
)

bothTest('a table is backed up and restored as the guide says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-backup-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const postgres = await startPostgres()
  onTestFinished(() => postgres.close())
  const [database, other] = [await postgres.newDatabase(), await postgres.newDatabase()]
  const query = async (address: string, text: string) => {
    const client = new pg.Client({ connectionString: address })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  const { Postgres } = await import('../src/destinations/postgres.ts')
  const { newEvent } = await import('./support/events.ts')
  const writeTo = async (address: string, ...ids: string[]) => {
    const destination = new Postgres(new URL(address))
    await destination.write(ids.map((id) => newEvent(id)))
    await destination.close()
  }
  await writeTo(database, 'a', 'b')
  const run = async (text: string, address: string) => {
    const commands = replaced(commandsAfter(text), {
      'postgres://trackpost:secret@127.0.0.1:5432/trackpost': address,
      '/backup/': `${folder}/`,
    })
    const { child, said } = inShell(commands, folder)
    const [code] = await once(child, 'close')
    expect(code, said()).toBe(0)
  }

  await run('## Backup', database)
  await run('To restore, stop the workers', other)
  await writeTo(other, 'b', 'c')

  const rows = await query(other, 'SELECT message_id FROM events ORDER BY 1')
  expect(rows.map(({ message_id }) => message_id)).toEqual(['a', 'b', 'c'])
})
