import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { newFolder, type Running, start } from '../../../collector/test/support/process.ts'
import { post, track } from '../../../collector/test/support.ts'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { newDatabase } from '../support/postgres.ts'
import { documented } from './documented.ts'

const PATH = `${findPostgres() ?? ''}${delimiter}${process.env['PATH'] ?? ''}`
const has = (program: string) => PATH.split(delimiter).some((folder) => existsSync(join(folder, program)))

const shell = (commands: string) =>
  promisify(execFile)('sh', ['-e', '-c', commands], { env: { ...process.env, PATH } })

const named = (name: string) => track({ event: name, messageId: name })

async function eventsOf({ url }: Running): Promise<string[]> {
  const { events } = (await (await fetch(`${url}/api/events?limit=1000`)).json()) as {
    events: Array<{ name: string; reason: string | null }>
  }
  return events.map(({ name, reason }) => `${name} ${reason ?? 'accepted'}`)
}

async function end(collector: Running): Promise<void> {
  collector.child.kill('SIGTERM')
  expect(await collector.ended).toEqual([0, null])
}

async function backupAndRestore(
  store: string,
  backup: string,
  loseAll: () => Promise<unknown>,
  restore: string,
) {
  const before = await start(['--port', '0', '--store', store])
  expect((await post(before, '/v1/track', named('before'))).status).toBe(200)
  await shell(backup)
  expect((await post(before, '/v1/track', named('after'))).status).toBe(200)
  await end(before)
  await loseAll()

  await shell(restore)

  const restored = await start(['--port', '0', '--store', store])
  expect(await eventsOf(restored)).toEqual(['before accepted'])
  for (const name of ['before', 'after', 'new']) await post(restored, '/v1/track', named(name))
  expect(await eventsOf(restored)).toEqual([
    'before accepted',
    'before duplicate',
    'after accepted',
    'new accepted',
  ])
  await end(restored)
}

test.skipIf(!has('sqlite3'))('an SQLite file is restored from the documented backup', async () => {
  const folder = newFolder()
  for (const name of ['data', 'backup']) mkdirSync(join(folder, name))
  const here = { '/data/': `${folder}/data/`, '/backup/': `${folder}/backup/` }
  const store = join(folder, 'data', 'events.db')

  await backupAndRestore(
    store,
    documented('**An SQLite file.**', here),
    // As after a disk failure: the files exist, but do not contain a database.
    () =>
      shell(`head -c 100000 /dev/urandom > ${store} && cp ${store} ${store}-wal && cp ${store} ${store}-shm`),
    documented('To restore, stop the collector', here),
  )
})

test.skipIf(inject('postgresPort') === null)(
  'PostgreSQL is restored from the documented backup',
  async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'backup'))
    const store = await newDatabase()
    const { port, pathname } = new URL(store)
    const name = pathname.slice(1)
    const address = {
      'postgres://trackpost@db.internal:5432/trackpost': store,
      '/backup/': `${folder}/backup/`,
    }
    const server = { '--host=db.internal': '--host=127.0.0.1', '--port=5432': `--port=${port}` }
    // In the guide, `dropdb` and `createdb` end with the name of the database.
    const restore = documented('To restore, stop all collectors', {
      ...address,
      ...server,
      '--username=trackpost trackpost': `--username=postgres ${name}`,
    })
    onTestFinished(
      async () =>
        void (await shell(
          `dropdb --if-exists --force --host=127.0.0.1 --port=${port} --username=postgres ${name}`,
        )),
    )

    await backupAndRestore(
      store,
      documented('**PostgreSQL.**', address),
      () =>
        shell(
          `psql ${store} --quiet --command='DROP SCHEMA public CASCADE' --command='CREATE SCHEMA public'`,
        ),
      restore,
    )
  },
)
