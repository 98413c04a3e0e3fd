import { expect, test } from 'vitest'
import { Log } from '../../src/cli/log.ts'
import { fakeClock } from '../support.ts'

function setUp() {
  const out: string[] = []
  const err: string[] = []
  const clock = fakeClock()
  const log = new Log(
    clock,
    (line) => void out.push(line),
    (line) => void err.push(line),
  )
  return { log, clock, out, err }
}

test('messages go to stdout and problems to stderr, one line each', () => {
  const { log, out, err } = setUp()

  log.info('it listens')
  log.fault('it\u001b[2J broke', new Error('a\r\nb'))
  log.failed(new Error('it ends'))

  expect(out).toEqual(['it listens\n'])
  expect(err).toEqual(['trackpost-collector: it [2J broke: a b\n', 'trackpost-collector: it ends\n'])
})

test('a repeated problem is logged at most once in ten seconds, with the number of lines that were suppressed', () => {
  const { log, clock, err } = setUp()

  for (let turn = 0; turn < 5; turn++) log.fault('the database cannot write', new Error('full'))
  log.fault('another', new Error('x'))
  clock.advance(10_000)
  log.fault('the database cannot write', new Error('full'))

  expect(err).toEqual([
    'trackpost-collector: the database cannot write: full\n',
    'trackpost-collector: another: x\n',
    'trackpost-collector: the database cannot write: full (and 4 more)\n',
  ])
})

test.each([
  ['the password in an address', 'connect to postgres://app:hunter2@db:5432/x failed', 'hunter2'],
  ['a token instead of a user name', 'nats://s3cr3t-t0ken@nats:4222 is unavailable', 's3cr3t-t0ken'],
  ['a password with an @', 'postgres://app:p@ss/word@db/x', 'ss/word'],
  ['a bearer token', 'got Authorization: Bearer eyJhbGciOi.abc-def', 'eyJhbGciOi'],
  ['a key for Basic authentication', 'sent Basic c2VjcmV0LWtleTo=', 'c2VjcmV0LWtleTo'],
  ['a password among settings', 'host=db password=hunter2 user=app', 'hunter2'],
  ['a token in a query string', 'https://hook.example/?token=hunter2&a=1', 'hunter2'],
])('%s is not logged', (_what, cause, secret) => {
  const { log, out, err } = setUp()

  log.fault(cause, new Error(cause))
  log.failed(new Error(cause))
  log.info(cause)

  expect([...out, ...err]).toHaveLength(3)
  expect([...out, ...err].join('')).not.toContain(secret)
})

test('file names are not redacted', () => {
  const { log, err } = setUp()

  log.failed(new Error('/data/events.db cannot be opened'))

  expect(err.join('')).toContain('/data/events.db')
})
