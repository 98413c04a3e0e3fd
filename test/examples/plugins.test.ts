import { readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../examples/receiver.mjs'
import { type Exit, runNode, WRITE_KEY } from './run-node.ts'

const document = readFileSync(new URL('../../docs/plugins.md', import.meta.url), 'utf8')

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

function runExample(heading: string): Promise<Exit> {
  const section = document.split('\n## ').find((one) => one.startsWith(`${heading}\n`)) ?? ''
  const [, language = '', code = ''] = /```(ts|js)\n([\s\S]*?)```/.exec(section) ?? []
  const program = transformSync(code, { loader: language as 'ts', format: 'esm' }).code
  return runNode(['--input-type=module', '--eval', program], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
  })
}

test('docs/plugins.md has eight examples, which the tests below run', () => {
  expect(document.match(/^```(?:ts|js)$/gm)).toHaveLength(8)
})

test('a tracking plan reports violations, drops only unknown events, and sends the properties that the schemas return', async () => {
  const exit = await runExample('A tracking plan')

  expect(exit).toMatchObject({ code: 0, stderr: '' })
  expect(exit.stdout).toMatch(
    /^Order Completed: total: .*number.*\n\{ delivered: 3, failed: 0, pending: 0 \}\n$/,
  )
  expect(receiver.events).toMatchObject([
    { event: 'Order Completed', properties: { id: 'o-17', total: 42.5, currency: 'EUR' } },
    { event: 'Cart Viewed', properties: {} },
    { event: 'Order Completed', properties: { id: 'o-18', total: '42.50' } },
  ])
})

test('redaction removes all IP addresses, card numbers and secrets', async () => {
  const exit = await runExample('Redaction')

  expect(exit).toEqual({
    code: 0,
    signal: null,
    stdout: '{ delivered: 1, failed: 0, pending: 0 }\n',
    stderr: '',
  })
  expect(receiver.events).toMatchObject([
    {
      userId: expect.stringMatching(/^[0-9a-f]{64}$/),
      properties: {
        credit_card: '[redacted]',
        reason: 'card [redacted] expired',
        accessToken: '[redacted]',
      },
      context: { ip: '[redacted]' },
    },
  ])
})

test('a filter lets only the chosen events through, and dropped events are reported', async () => {
  const exit = await runExample('Filters')

  expect(exit).toMatchObject({ code: 0, stderr: '' })
  expect(exit.stdout).toBe(
    "the plugin 'consent' dropped the event: the filter refused it\n{ delivered: 1, failed: 1, pending: 0 }\n",
  )
  expect(receiver.events).toMatchObject([{ userId: 'ada' }])
})

test('a sample keeps the same users in each process', async () => {
  const first = await runExample('Samples')
  const users = receiver.events.map(({ userId }) => userId)
  receiver.events.length = 0
  const second = await runExample('Samples')

  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/^\{ delivered: \d+, failed: \d+ \}\n$/)
  expect(second.stdout).toBe(first.stdout)
  expect(receiver.events.map(({ userId }) => userId)).toEqual(users)
  expect(users.length).toBeGreaterThan(50)
  expect(users.length).toBeLessThan(150)
})

test('a custom plugin adds the version of the app to the context', async () => {
  const exit = await runExample('Your own')

  expect(exit).toMatchObject({ code: 0, stdout: '{ delivered: 1, failed: 0, pending: 0 }\n' })
  expect(receiver.events).toMatchObject([{ context: { app: { version: 'unknown' } } }])
})

test('rename gives an event its new name', async () => {
  const exit = await runExample('New names')

  expect(exit).toMatchObject({ code: 0, stderr: '', stdout: '{ delivered: 1, failed: 0, pending: 0 }\n' })
  expect(receiver.events).toMatchObject([{ event: 'Order Completed' }])
})

test('a function drops events by returning null, and changes them by returning an event', async () => {
  const exit = await runExample('A function')

  expect(exit).toMatchObject({ code: 0, stderr: '', stdout: 'plugin\n1 1\n' })
  expect(receiver.events).toMatchObject([{ anonymousId: 'v-18', properties: { release: '1.2.3' } }])
})

test('the event contains the trace that was active at the call', async () => {
  const exit = await runExample('The trace')

  expect(exit).toMatchObject({ code: 0, stderr: '', stdout: 'true\n' })
})
