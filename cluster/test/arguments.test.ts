import { expect, test } from 'vitest'
import { headersOf, help, readArguments, wholeNumber } from '../src/arguments.ts'

test('a variable stands for an option that the command line does not have', () => {
  const env = {
    TRACKPOST_CLUSTER_LOG: 'nats://env',
    TRACKPOST_CLUSTER_TO: 'file:///data',
    TRACKPOST_CLUSTER_HEADER: 'a: 1\nb: 2',
    TRACKPOST_CLUSTER_ALLOW_PUBLIC: 'true',
    TRACKPOST_HOST: 'of the SDK',
  }

  expect(readArguments(['work', '--log', 'nats://own'], env)).toEqual({
    command: 'work',
    values: {
      log: 'nats://own',
      to: 'file:///data',
      header: ['a: 1', 'b: 2'],
      host: '127.0.0.1',
      replicas: '1',
      'max-bytes': '4294967296',
    },
  })
  expect(readArguments(['front'], env).values).toMatchObject({ log: 'nats://env', 'allow-public': true })
})

test.each([
  [[], 'expected trackpost-cluster front'],
  [['serve'], 'expected trackpost-cluster front'],
  [['work', 'more'], 'expected trackpost-cluster front'],
  [['front', '--to', 'x'], '--to is an option of work'],
  [['work', '--config', 'x'], '--config is an option of front'],
  [['work', '--lgo', 'x'], "Unknown option '--lgo'"],
])('the arguments %j are refused', (args, says) => {
  expect(() => readArguments(args, {})).toThrow(says)
})

test('numbers and headers are checked', () => {
  expect(wholeNumber({ port: '80' }, 'port', 65_535)).toBe(80)
  for (const port of ['', '-1', '1.5', '65536', 'x']) {
    expect(() => wholeNumber({ port }, 'port', 65_535)).toThrow('--port: expected a number from 0 to 65535')
  }
  expect(headersOf(['Authorization: Bearer a:b', 'X-Empty:'])).toEqual({
    Authorization: 'Bearer a:b',
    'X-Empty': '',
  })
  for (const line of ['no colon', 'bad name: x', ': x'])
    expect(() => headersOf([line])).toThrow("--header: expected 'name: value'")
})

test('the help names every option', () => {
  for (const name of ['log', 'to', 'name', 'dead-letters', 'config', 'replicas'])
    expect(help()).toContain(`--${name}`)
})
