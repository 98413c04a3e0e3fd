import { chownSync, copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { start } from '../../collector/test/support/process.ts'
import { openCollector, post, track } from '../../collector/test/support.ts'
import { findPostgres } from '../scripts/find-postgres.mjs'
import { type Certificates, hasOpenssl, makeCertificates } from './support/certificates.ts'
import { natsTest, startNats } from './support/nats.ts'
import { describeWithPostgres, startPostgres } from './support/postgres.ts'

/** An empty database on a server that accepts connections with and without TLS. */
async function databaseWithTls({ certificate, key }: Certificates): Promise<string> {
  const server = await startPostgres(findPostgres() ?? '')
  onTestFinished(() => server.close())
  const address = await server.newDatabase()
  const admin = new pg.Client({ connectionString: address })
  await admin.connect()
  const { rows } = await admin.query<{ data_directory: string }>('SHOW data_directory')
  const folder = rows[0]?.data_directory ?? ''
  const { uid, gid } = statSync(folder)
  for (const [name, from] of [
    ['server.crt', certificate],
    ['server.key', key],
  ] as const) {
    copyFileSync(from, join(folder, name))
    chownSync(join(folder, name), uid, gid)
  }
  await admin.query('ALTER SYSTEM SET ssl = on')
  await admin.query('SELECT pg_reload_conf()')
  await expect.poll(async () => (await admin.query('SHOW ssl')).rows[0]).toEqual({ ssl: 'on' })
  await admin.end()
  return address
}

const json = async (url: string, path: string) => (await fetch(`${url}${path}`)).json()

describe.skipIf(!hasOpenssl)('TLS', () => {
  describeWithPostgres('to PostgreSQL', () => {
    test('with the CA of the server, every connection is encrypted, and events are stored', async () => {
      const certificates = makeCertificates()
      const store = await databaseWithTls(certificates)

      const collector = await openCollector({
        store: `${store}?sslmode=verify-full&sslrootcert=${certificates.ca}`,
      })
      expect((await post(collector, '/v1/track', track({ event: 'Encrypted' }))).status).toBe(200)
      await collector.waitFor({ event: 'Encrypted' })

      const admin = new pg.Client({ connectionString: store })
      await admin.connect()
      onTestFinished(() => admin.end())
      const { rows } = await admin.query<{ ssl: boolean }>(
        `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      )
      expect(rows.length).toBeGreaterThan(0)
      expect(rows.every(({ ssl }) => ssl)).toBe(true)
    })

    test('an unknown CA and a wrong server name are refused, with the remedy', async () => {
      const certificates = makeCertificates()
      const store = await databaseWithTls(certificates)

      await expect(openCollector({ store: `${store}?sslmode=require` })).rejects.toThrow(
        'name the CA: sslmode=verify-full&sslrootcert=<file>',
      )
      const other = makeCertificates().ca
      await expect(
        openCollector({ store: `${store}?sslmode=verify-full&sslrootcert=${other}` }),
      ).rejects.toThrow('cannot be opened')
      const misnamed = store.replace('127.0.0.1', 'localhost')
      await expect(
        openCollector({ store: `${misnamed}?sslmode=verify-full&sslrootcert=${certificates.ca}` }),
      ).rejects.toThrow(/Hostname\/IP does not match/)
    })
  })

  natsTest('to NATS: with the CA of the server, events go through a front and a worker', async () => {
    const { ca, certificate, key } = makeCertificates()
    const { port } = await startNats('--tls', '--tlscert', certificate, '--tlskey', key)
    const log = `tls://127.0.0.1:${port}`
    const trusting = { NODE_EXTRA_CA_CERTS: ca }

    const front = await start(['--port', '0', '--log', log], trusting)
    const worker = await start(['work', '--port', '0', '--log', log, '--store', 'events.db'], trusting)
    await expect.poll(async () => (await fetch(`${front.url}/readyz`)).status).toBe(200)
    expect((await post(front, '/v1/track', track({ event: 'Encrypted' }))).status).toBe(200)

    const kept = async () => (await json(worker.url, '/api/events?event=Encrypted')).events?.length
    await expect.poll(kept).toBe(1)
    expect(await json(front.url, '/api/about')).toMatchObject({ log })
  })

  natsTest('to NATS: a server with an unknown CA gets no event, and /readyz says why', async () => {
    const { certificate, key } = makeCertificates()
    const { port } = await startNats('--tls', '--tlscert', certificate, '--tlskey', key)

    const front = await start(['--port', '0', '--log', `tls://127.0.0.1:${port}`])

    expect((await post(front, '/v1/track', track())).status).toBe(503)
    const { parts } = await json(front.url, '/readyz')
    expect(parts).toMatchObject([
      { part: 'log', isReady: false, reason: expect.stringMatching(/certificate/) },
    ])
  })
})
