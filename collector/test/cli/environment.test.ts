import { expect, test } from 'vitest'
import { underItsName, variableOf, withEnvironment } from '../../src/cli/environment.ts'
import { COLLECTOR_FLAGS, HELP } from '../../src/cli/flags.ts'
import { ConfigError } from '../../src/config/config-error.ts'

const read = (environment: Record<string, string>, ...args: string[]) =>
  withEnvironment(args, COLLECTOR_FLAGS, environment)

test('the help names every flag, and fits into 80 columns', () => {
  for (const flag of Object.keys(COLLECTOR_FLAGS)) expect(HELP).toContain(`--${flag}`)
  expect(HELP.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('environment variables set flags of every type', () => {
  expect(
    read({
      TRACKPOST_COLLECTOR_STORE: '/data/a b=c.db',
      TRACKPOST_COLLECTOR_ALLOW_PUBLIC: 'true',
      TRACKPOST_COLLECTOR_QUIET: '0',
      TRACKPOST_COLLECTOR_BROWSER_ORIGIN: 'https://a.example, https://b.example',
    }),
  ).toEqual([
    '--store=/data/a b=c.db',
    '--browser-origin=https://a.example',
    '--browser-origin=https://b.example',
    '--allow-public',
  ])
})

test('every flag has a variable, except those that print something and exit', () => {
  for (const [flag, { type }] of Object.entries(COLLECTOR_FLAGS)) {
    const set = read({ [variableOf(flag)]: type === 'boolean' ? 'true' : 'x' })
    expect(set.length, flag).toBe(flag === 'help' || flag === 'version' ? 0 : 1)
  }
})

test.each([['--port=1'], ['--port', '1']])('a flag wins over the environment: %s', (...args) => {
  expect(read({ TRACKPOST_COLLECTOR_PORT: '2' }, ...args)).toEqual(args)
})

test('an empty variable counts as not set', () => {
  expect(read({ TRACKPOST_COLLECTOR_PLAN: '', TRACKPOST_ADMIN_TOKEN: '' })).toEqual([])
})

test('a line break at the end of a value is removed', () => {
  expect(
    read({
      TRACKPOST_ADMIN_TOKEN: 'abcdefgh\n',
      TRACKPOST_COLLECTOR_STORE: 'postgres://db.internal/x\r\n',
      TRACKPOST_COLLECTOR_ALLOW_PUBLIC: 'true\n',
      TRACKPOST_COLLECTOR_CONFIG: '\n',
      TRACKPOST_COLLECTOR_PLAN: 'a\nb.json',
    }),
  ).toEqual([
    '--store=postgres://db.internal/x',
    '--plan=a\nb.json',
    '--allow-public',
    '--admin-token=abcdefgh',
  ])
})

test('TRACKPOST_ADMIN_TOKEN also sets the admin token, but TRACKPOST_COLLECTOR_ADMIN_TOKEN wins', () => {
  expect(read({ TRACKPOST_ADMIN_TOKEN: 'shared' })).toEqual(['--admin-token=shared'])
  expect(read({ TRACKPOST_ADMIN_TOKEN: 'a', TRACKPOST_COLLECTOR_ADMIN_TOKEN: 'b' })).toEqual([
    '--admin-token=b',
  ])
})

test('variables of the SDK are ignored', () => {
  expect(
    read({
      TRACKPOST_HOST: 'http://127.0.0.1:8787',
      TRACKPOST_CONFIG: 'trackpost.json',
      TRACKPOST_REGION: 'eu',
      TRACKPOST_WRITE_KEY: 'k',
    }),
  ).toEqual([])
})

test('variables that Kubernetes sets for a Service whose name begins with trackpost-collector are ignored', () => {
  expect(
    read({
      TRACKPOST_COLLECTOR_PORT: 'tcp://10.0.0.7:8787',
      TRACKPOST_COLLECTOR_SERVICE_HOST: '10.0.0.7',
      TRACKPOST_COLLECTOR_SERVICE_PORT: '8787',
      TRACKPOST_COLLECTOR_SERVICE_PORT_HTTP: '8787',
      TRACKPOST_COLLECTOR_PORT_8787_TCP: 'tcp://10.0.0.7:8787',
      TRACKPOST_COLLECTOR_PORT_8787_TCP_ADDR: '10.0.0.7',
      TRACKPOST_COLLECTOR_FRONT_PORT: 'tcp://10.0.0.8:8787',
      TRACKPOST_COLLECTOR_FRONT_SERVICE_HOST: '10.0.0.8',
    }),
  ).toEqual([])
})

test('a tcp:// address in a variable that Kubernetes does not set is used', () => {
  expect(
    read({
      TRACKPOST_COLLECTOR_LOG: 'tcp://10.0.0.9:4222',
      TRACKPOST_COLLECTOR_STORE: 'tcp://10.0.0.9:5432',
    }),
  ).toEqual(['--store=tcp://10.0.0.9:5432', '--log=tcp://10.0.0.9:4222'])
})

test('a misspelt variable, and a switch that is neither true nor false, are errors that name the variable', () => {
  expect(() => read({ TRACKPOST_COLLECTOR_DATABSE: 'x' })).toThrow(/TRACKPOST_COLLECTOR_DATABSE: no flag/)
  expect(() => read({ TRACKPOST_COLLECTOR_QUIET: 'perhaps' })).toThrow(/QUIET: expected true or false/)
})

test('an error names the variable only if the variable set the flag', () => {
  const problem = new ConfigError('--port: expected a whole number')
  const environment = { TRACKPOST_COLLECTOR_PORT: 'x', TRACKPOST_COLLECTOR_DRAIN: '1' }

  expect(underItsName(problem, ['work'], environment)).toEqual(
    new ConfigError('TRACKPOST_COLLECTOR_PORT: expected a whole number'),
  )
  expect(underItsName(problem, ['--port=x'], environment)).toBe(problem)
  expect(underItsName(problem, [], {})).toBe(problem)
  // The address that Kubernetes sets is ignored, so the error cannot be about it.
  expect(underItsName(problem, [], { TRACKPOST_COLLECTOR_PORT: 'tcp://10.0.0.7:8787' })).toBe(problem)
  const other = new Error('--port: of something else')
  expect(underItsName(other, [], environment)).toBe(other)
})
