import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../examples/receiver.mjs'
import { type Exit, runNode, WRITE_KEY } from './run-node.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${repository}docs/observability.md`, 'utf8')

const blocks = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const heading = section.slice(0, section.indexOf('\n'))
      return [...section.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(
        ([, code = '']) => [heading, code] as const,
      )
    }),
)

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

/** Runs code in this repository, where `trackpost` resolves to the built package. */
function run(
  code: string,
  env: Record<string, string> = {},
  type = 'module',
  flags: string[] = [],
): Promise<Exit> {
  return runNode([...flags, `--input-type=${type}`, '-e', code], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
    ...env,
  })
}

const example = (heading: string): string =>
  blocks.get(heading) ?? `throw new Error('no code under ${heading}')`

test('docs/troubleshooting.md: its program says whether the service can be reached and takes the key', async () => {
  const guide = readFileSync(`${repository}docs/troubleshooting.md`, 'utf8')
  const [, program = '', output] = /^```js\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```$/m.exec(guide) ?? []
  const fine = await run(program)
  const wrong = await run(program, { TRACKPOST_WRITE_KEY: 'wk_of_somebody_else' })
  receiver.faults.push({ status: 503 })
  const down = await run(program)

  expect(fine).toMatchObject({ code: 0, stdout: output, stderr: '' })
  expect(wrong.stdout).toContain('authorized: false')
  expect(wrong.stdout).toContain('[401] Unauthorized: the credentials were refused')
  expect(wrong.stderr).toBe(`${receiver.url}/v1/batch\n`)
  expect(down.stdout).toMatch(/reachable: true,\s+authorized: undefined,\s+status: 503/)
  expect(receiver.events).toEqual([])
})

describe('docs/observability.md', () => {
  test('has only code blocks that are run here', () => {
    expect([...blocks.keys()]).toEqual(['How is it doing', 'A log', 'Channels'])
    expect(page.match(/^```/gm)).toHaveLength(2 * blocks.size)
  })

  test('How is it doing', async () => {
    const exit = await run(example('How is it doing'))

    expect(exit).toMatchObject({ code: 0, stdout: "200 [ 'status', 'stats' ]\n", stderr: '' })
  })

  test('A log', async () => {
    const { code, stdout, stderr } = await run(example('A log'))
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

    expect([code, stderr]).toEqual([0, ''])
    expect(lines).toMatchObject([
      { level: 20, module: 'tracking', msg: 'trackpost: request', attempt: 1, events: 1 },
      { level: 20, module: 'tracking', msg: 'trackpost: response', status: 200 },
    ])
    expect(stdout).not.toContain(WRITE_KEY)
    expect(receiver.events).toMatchObject([{ event: 'Order Completed' }])
  })

  test('Channels', async () => {
    const exit = await run(example('Channels'))

    expect(exit).toMatchObject({ code: 0, stdout: 'attempt 1 with 1 event(s): 200\n', stderr: '' })
  })

  test('Without code: NODE_DEBUG shows requests and responses on stderr', async () => {
    const { code, stderr } = await run(example('Channels'), { NODE_DEBUG: 'trackpost' })

    expect(code).toBe(0)
    expect(stderr).toMatch(/^TRACKPOST \d+: request \{"url":"http[^\n]*"attempt":1,[^\n]*\}$/m)
    expect(stderr).toMatch(/^TRACKPOST \d+: response \{[^\n]*"status":200,"durationMs":[\d.]+\}$/m)
    expect(stderr).not.toContain(WRITE_KEY)
  })
})

test('verify, channels and status also work in CommonJS', async () => {
  const exit = await run(
    `const { Analytics } = require('trackpost')
    const heard = []
    require('node:diagnostics_channel').channel('trackpost:outcome').subscribe(({ kind }) => heard.push(kind))
    const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY, host: process.env.TRACKPOST_HOST })
    analytics.verify().then(async ({ authorized }) => {
      await analytics.promises.track({ userId: 'ada', event: 'Order Completed' })
      console.log(authorized, heard, analytics.status.lastDeliveredAt instanceof Date)
    })`,
    {},
    'commonjs',
  )

  expect(exit).toMatchObject({ code: 0, stdout: "true [ 'track' ] true\n", stderr: '' })
})

test('the build for edge runtimes has verify and status, and channels if the runtime has node:diagnostics_channel', async () => {
  const exit = await run(
    `const { Analytics } = await import('trackpost')
    const { channel } = await import('node:diagnostics_channel')
    channel('trackpost:outcome').subscribe(() => console.log('outcome'))
    const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY, host: process.env.TRACKPOST_HOST })
    const { authorized } = await analytics.verify()
    await analytics.promises.track({ userId: 'ada', event: 'Order Completed' })
    console.log(authorized, analytics.status.lastDeliveredAt instanceof Date)`,
    {},
    'module',
    ['--conditions=worker'],
  )

  expect(exit).toMatchObject({ code: 0, stdout: 'outcome\ntrue true\n', stderr: '' })
})
