import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startCollector } from '../../../collector/src/start.ts'
import { withoutPassword, withPlainSslMode } from '../../src/postgres/address.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'

test('sslmode has the meaning that pg gives it; with uselibpqcompat, it has the meaning that libpq gives it', () => {
  expect(withPlainSslMode('postgres://h/d?a=1&sslmode=require')).toBe(
    'postgres://h/d?a=1&sslmode=verify-full',
  )
  for (const kept of [
    'postgres://h/d?sslmode=disable',
    'postgres://h/d?sslmode=no-verify',
    'postgres://h/d?uselibpqcompat=true&sslmode=require',
    'postgres://u:sslmode=require@h/d',
  ]) {
    expect(withPlainSslMode(kept)).toBe(kept)
  }
})

test('a password with an unencoded percent sign is redacted too', () => {
  const address = 'postgres://me:100%secret@host/events'

  expect(withoutPassword('100%secret is wrong', address)).toBe('*** is wrong')
})

test('an unknown parameter and a missing file are refused at the start, even if the store may be opened later', async () => {
  const failure = async (search: string, log?: string) => {
    const store = `postgres://ada:secret@127.0.0.1:1/shop?${search}`
    return startCollector({ port: 0, store, ...(log !== undefined && { log }) }).then(
      () => 'started',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  }

  for (const misspelt of ['sslmod=verify-full', 'sslmode=require&aplication_name=x', 'SSLMODE=require']) {
    expect(await failure(misspelt)).toMatch(
      /^ConfigError: store: a parameter .*application_name.*sslrootcert/,
    )
  }
  const log = 'nats://127.0.0.1:1'
  for (const given of [undefined, log]) {
    expect(await failure('sslmode=verify-full&sslrootcert=/nowhere.pem', given)).toBe(
      'ConfigError: store: sslrootcert: /nowhere.pem cannot be read (ENOENT); name a file that this user may read',
    )
  }
  const twice = `sslmode=verify-full&sslkey=${import.meta.filename}&sslkey=/nowhere.key`
  expect(await failure(twice)).toContain('sslkey: /nowhere.key cannot be read')
  // Parameters of pg and libpq are accepted, so the only error is that the server is unavailable.
  for (const known of ['application_name=x&connect_timeout=3', 'sslmode=disable&channel_binding=prefer']) {
    expect(await failure(known)).toContain('ECONNREFUSED')
  }
})

describeWithPostgres('a database that cannot be opened', () => {
  test('is reported in one line, with the remedy', async () => {
    const address = await newDatabase()
    const admin = new pg.Client(address)
    await admin.connect()
    onTestFinished(() => admin.end())
    await admin.query('REVOKE ALL ON SCHEMA public FROM PUBLIC')
    const user = `guest_${process.hrtime.bigint()}`
    await admin.query(`CREATE ROLE ${user} LOGIN`)
    const failure = (change: Partial<Pick<URL, 'username' | 'pathname' | 'search'>>) => {
      const store = Object.assign(new URL(address), change).href
      return startCollector({ port: 0, store }).then(
        () => 'started',
        (error: Error) => error.message,
      )
    }

    const grant = /GRANT USAGE, CREATE ON SCHEMA <schema> TO <user>$/
    expect(await failure({ username: user })).toMatch(grant)
    await admin.query('GRANT USAGE ON SCHEMA public TO PUBLIC')
    expect(await failure({ username: user })).toMatch(grant)
    expect(await failure({ pathname: '/absent' })).toMatch(/"absent".*CREATE DATABASE$/)
    expect(await failure({ search: '?sslmode=require' })).toMatch(/sslmode=disable$/)
  })
})
