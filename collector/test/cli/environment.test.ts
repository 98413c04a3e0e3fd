import { expect, test } from 'vitest'
import { prepareEnvironment, variableOf } from '../../src/cli/environment.ts'
import { createProgram } from '../../src/cli/program.ts'

/** The program with these arguments and the settings of the environment. */
const newProgram = (environment: Record<string, string>, ...args: string[]) => {
  const nothing = async () => 0
  const commands = { collect: nothing, tail: nothing, keygen: nothing, check: nothing }
  const program = createProgram(commands, () => {})
  const given = { ...environment }
  prepareEnvironment(program, given)
  // Commander reads the environment of the process.
  Object.assign(process.env, given)
  try {
    program.parse(args, { from: 'user' })
  } finally {
    for (const variable of Object.keys(given)) delete process.env[variable]
  }
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
  })
})

test('every option but --help and --version has a variable', () => {
  const { options } = newProgram({})
  const variables = options.map(
    ({ long, envVar }) => long !== '--version' && variableOf(`${long} <x>`) === envVar,
  )
  expect(variables.filter((isThere) => !isThere)).toHaveLength(1)
})

test.each([['--port=1'], ['--port', '1'], ['check', '--port', '1'], ['--port', '1', 'check']])(
  'an option wins over the environment: %s %s %s',
  (...args) => {
    expect(read({ TRACKPOST_COLLECTOR_PORT: '2' }, ...args)).toEqual({ port: 1 })
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
  expect(read({ TRACKPOST_ADMIN_TOKEN: 'a', TRACKPOST_COLLECTOR_ADMIN_TOKEN: '\n' })).toEqual({
    adminToken: 'a',
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
  expect(() => read({ TRACKPOST_COLLECTOR_HTTP_PORT: '80' })).toThrow(/HTTP_PORT: no option/)
  expect(() => read({ TRACKPOST_COLLECTOR_QUIET: 'perhaps' })).toThrow(/QUIET: expected true or false/)
})

test('an error names the variable that has set the option', () => {
  expect(() => newProgram({ TRACKPOST_COLLECTOR_PORT: 'x' })).toThrow(
    /from env 'TRACKPOST_COLLECTOR_PORT' is invalid/,
  )
})
