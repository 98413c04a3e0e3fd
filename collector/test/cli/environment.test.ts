import { expect, test } from 'vitest'
import { readEnvironment, settable, underItsName, variableOf } from '../../src/cli/environment.ts'
import { createProgram } from '../../src/cli/program.ts'
import { ConfigError } from '../../src/config/config-error.ts'

/** The program with these arguments and the settings of the environment. */
const newProgram = (environment: Record<string, string>, ...args: string[]) => {
  const nothing = async () => 0
  const commands = { collect: nothing, work: nothing, keygen: nothing, check: nothing, healthcheck: nothing }
  const program = createProgram(commands, () => {})
  program.parse(args, { from: 'user' })
  readEnvironment(program, environment)
  return program
}
const defaults = newProgram({}).opts()
/** The options that differ from the defaults. */
const read = (environment: Record<string, string>, ...args: string[]) =>
  Object.fromEntries(
    Object.entries(newProgram(environment, ...args).opts()).filter(
      ([name, value]) => defaults[name] !== value,
    ),
  )

test('the help fits into 80 columns', () => {
  const program = newProgram({})
  for (const command of [program, ...program.commands])
    expect(
      command
        .helpInformation()
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([])
})

test('environment variables set options of every type', () => {
  expect(
    read({
      TRACKPOST_COLLECTOR_STORE: '/data/a b=c.db',
      TRACKPOST_COLLECTOR_ALLOW_PUBLIC: 'true',
      TRACKPOST_COLLECTOR_QUIET: '0',
      TRACKPOST_COLLECTOR_BROWSER_ORIGIN: 'https://a.example, https://b.example',
    }),
  ).toEqual({
    store: '/data/a b=c.db',
    browserOrigin: ['https://a.example', 'https://b.example'],
    allowPublic: true,
    quiet: false,
  })
})

test('every option but --help and --version has a variable', () => {
  for (const option of settable(newProgram({}))) {
    const set = read({ [variableOf(option)]: option.isBoolean() ? 'true' : 'x' })
    expect(Object.keys(set)).toEqual([option.attributeName()])
  }
})

test.each([['--port=1'], ['--port', '1'], ['work', '--port', '1'], ['--port', '1', 'work']])(
  'an option wins over the environment: %s %s %s',
  (...args) => {
    expect(read({ TRACKPOST_COLLECTOR_PORT: '2' }, ...args)).toEqual({ port: '1' })
  },
)

test('an empty variable counts as not set', () => {
  expect(read({ TRACKPOST_COLLECTOR_PLAN: '', TRACKPOST_ADMIN_TOKEN: '' })).toEqual({})
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
  ).toEqual({
    store: 'postgres://db.internal/x',
    plan: 'a\nb.json',
    allowPublic: true,
    adminToken: 'abcdefgh',
  })
})

test('TRACKPOST_ADMIN_TOKEN also sets the admin token, but TRACKPOST_COLLECTOR_ADMIN_TOKEN wins', () => {
  expect(read({ TRACKPOST_ADMIN_TOKEN: 'shared' })).toEqual({ adminToken: 'shared' })
  expect(read({ TRACKPOST_ADMIN_TOKEN: 'a', TRACKPOST_COLLECTOR_ADMIN_TOKEN: 'b' })).toEqual({
    adminToken: 'b',
  })
})

test('variables of the SDK are ignored', () => {
  expect(
    read({
      TRACKPOST_HOST: 'http://127.0.0.1:8787',
      TRACKPOST_CONFIG: 'trackpost.json',
      TRACKPOST_REGION: 'eu',
      TRACKPOST_WRITE_KEY: 'k',
    }),
  ).toEqual({})
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
  ).toEqual({})
})

test('a tcp:// address in a variable that Kubernetes does not set is used', () => {
  expect(
    read({
      TRACKPOST_COLLECTOR_LOG: 'tcp://10.0.0.9:4222',
      TRACKPOST_COLLECTOR_STORE: 'tcp://10.0.0.9:5432',
    }),
  ).toEqual({ store: 'tcp://10.0.0.9:5432', log: 'tcp://10.0.0.9:4222' })
})

test('a misspelt variable, and a switch that is neither true nor false, are errors that name the variable', () => {
  expect(() => read({ TRACKPOST_COLLECTOR_DATABSE: 'x' })).toThrow(/TRACKPOST_COLLECTOR_DATABSE: no option/)
  expect(() => read({ TRACKPOST_COLLECTOR_QUIET: 'perhaps' })).toThrow(/QUIET: expected true or false/)
})

test('an error names the variable only if the variable set the option', () => {
  const problem = new ConfigError('--port: expected a whole number')
  const environment = { TRACKPOST_COLLECTOR_PORT: 'x', TRACKPOST_COLLECTOR_DRAIN: '1' }

  const named = (cause: unknown, given: Record<string, string>, ...args: string[]) =>
    underItsName(cause, newProgram(given, ...args), given)

  expect(named(problem, environment, 'work')).toEqual(
    new ConfigError('TRACKPOST_COLLECTOR_PORT: expected a whole number'),
  )
  expect(named(problem, environment, '--port=x')).toBe(problem)
  expect(named(problem, {})).toBe(problem)
  // The address that Kubernetes sets is ignored, so the error cannot be about it.
  expect(named(problem, { TRACKPOST_COLLECTOR_PORT: 'tcp://10.0.0.7:8787' })).toBe(problem)
  const other = new Error('--port: of something else')
  expect(named(other, environment)).toBe(other)
})
