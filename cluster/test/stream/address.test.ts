import { expect, test } from 'vitest'
import { readDestination } from '../../src/destinations/open.ts'
import { readTable } from '../../src/destinations/table.ts'
import { readAddress } from '../../src/stream/address.ts'
import { readCredentials } from '../../src/stream/credentials.ts'
import { consumerName } from '../../src/worker.ts'

test.each([
  ['nats://a', 'nats://a', { servers: ['a'] }],
  ['nats://a:1,b:2/', 'nats://a:1,b:2', { servers: ['a:1', 'b:2'] }],
  ['nats://u:p%40ss@a', 'nats://a', { servers: ['a'], user: 'u', pass: 'p@ss' }],
  ['nats://token@a', 'nats://a', { servers: ['a'], token: 'token' }],
  ['tls://a', 'tls://a', { servers: ['tls://a'], tls: {} }],
])('%s is an address of a stream', (address, shown, options) => {
  expect(readAddress(address)).toEqual({ shown, options })
})

test.each(['a', 'http://a', 'nats://', 'nats://a b', 'nats://a?x=1', 'nats://a,,b', 'nats://a/path'])(
  '%s is no address of a stream',
  (address) => {
    expect(() => readAddress(address)).toThrow('log: expected nats://')
  },
)

test('the scheme of a URL names the destination, and others are refused', () => {
  expect(readDestination('clickhouses://u:p@h:8443/db').name).toBe('ClickHouse')
  expect(readDestination('postgresql://h/db').name).toBe('PostgreSQL')
  expect(readDestination('https://h/hook').name).toBe('Webhook')
  expect(readDestination('file:///data').name).toBe('Files')
  for (const address of ['kafka://h', '/data', 'mysql://h'])
    expect(() => readDestination(address)).toThrow('to: expected clickhouse://')
})

test('a name of a table needs no quotes', () => {
  const { table, url } = readTable(new URL('postgres://h/db?table=own.events&sslmode=verify-full'))
  expect([table, url.href]).toEqual(['own.events', 'postgres://h/db?sslmode=verify-full'])
  expect(readTable(new URL('postgres://h/db')).table).toBe('events')
  for (const name of ['a;b', 'a b', '1a', 'a.b.c', '"a"'])
    expect(() => readTable(new URL(`postgres://h/db?table=${encodeURIComponent(name)}`))).toThrow(
      'to: table is a name',
    )
})

test('a consumer has the name of its destination, in letters that NATS allows', () => {
  expect(['ClickHouse', 'My CRM', 'a.b*c>', 'Größe'].map(consumerName)).toEqual([
    'clickhouse',
    'my-crm',
    'a-b-c-',
    'größe',
  ])
})

test('a file of credentials that is not there is named', () => {
  expect(() => readCredentials('/nowhere/a.creds')).toThrow(
    'credentials: /nowhere/a.creds cannot be read (ENOENT)',
  )
})
