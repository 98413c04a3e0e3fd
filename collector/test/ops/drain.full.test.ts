import { expect, test } from 'vitest'
import { newDatabaseFile, run, start } from '../support/process.ts'
import { openCollector, post, track } from '../support.ts'

const readiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`)
  return { code: response.status, ...((await response.json()) as { status: string }) }
}

test.each([
  { signal: 'SIGKILL', flags: [], end: [null, 'SIGKILL'] },
  { signal: 'SIGTERM', flags: ['--drain', '3'], end: [0, null] },
] as const)(
  'F119, F124: when $signal ends the collector under load, each event that got 200 is stored once, also if it was sent again',
  async ({ signal, flags, end }) => {
    const database = newDatabaseFile()
    const first = await start(['--port', '0', '--store', database, ...flags])
    let { url } = first
    const answered: string[] = []
    let isOver = false
    // Repeats each batch until it gets 200, like any client.
    const send = async (name: string) => {
      for (let turn = 0; !isOver; turn++) {
        const ids = Array.from({ length: 10 }, (_, index) => `${name}-${turn}-${index}`)
        const batch = ids.map((messageId) => track({ messageId }))
        while ((await post({ url }, '/v1/batch', { batch }).catch(() => undefined))?.status !== 200)
          await new Promise((resolve) => setTimeout(resolve, 5))
        answered.push(...ids)
      }
    }
    const someMore = (count: number, before = answered.length) =>
      expect.poll(() => answered.length, { interval: 5 }).toBeGreaterThan(before + count)
    const senders = Promise.all(['a', 'b', 'c', 'd'].map(send))
    await someMore(1000)

    first.child.kill(signal)
    if (signal === 'SIGTERM') {
      await expect.poll(() => readiness(first.url)).toMatchObject({ code: 503, status: 'draining' })
      await someMore(0)
    }
    expect(await first.ended).toEqual(end)
    const before = [...answered]
    const kept = await openCollector({ store: database })
    const stored = () => kept.events({ status: 'accepted' }).map(({ messageId }) => String(messageId))
    const known = new Set(stored())
    expect(before.filter((id) => !known.has(id))).toEqual([])
    url = kept.url
    await someMore(100)
    isOver = true
    await senders
    await post(kept, '/v1/batch', { batch: answered.slice(0, 500).map((messageId) => track({ messageId })) })

    expect(stored().sort()).toEqual(answered.sort())
    if (signal === 'SIGTERM')
      expect(first.lines.map(({ message }) => message)).toEqual([
        expect.stringContaining('listens'),
        expect.stringContaining('stored in'),
        'trackpost-collector drains for 3 s',
        'trackpost-collector ended by SIGTERM',
      ])
  },
)

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a second signal, %s, ends the drain at once, and events that got 200 are stored',
  async (second) => {
    const database = newDatabaseFile()
    const { child, url, ended } = await start(['--port', '0', '--store', database, '--drain', '600'])
    child.kill('SIGTERM')
    await expect.poll(() => readiness(url)).toMatchObject({ code: 503, status: 'draining' })
    expect((await post({ url }, '/v1/track', track({ messageId: 'late' }))).status).toBe(200)

    child.kill(second)

    expect(await ended).toEqual([null, second])
    expect((await openCollector({ store: database })).events()).toMatchObject([{ messageId: 'late' }])
  },
)

test('Ctrl+C ends the collector without a drain, since a person waits', async () => {
  const { child, lines, ended } = await start(['--port', '0', '--store', ':memory:', '--drain', '600'])

  child.kill('SIGINT')

  expect(await ended).toEqual([0, null])
  expect(lines.at(-1)).toMatchObject({ message: 'trackpost-collector ended by SIGINT', signal: 'SIGINT' })
})

test('healthcheck reports the state of /readyz: ready, draining, or not running', async () => {
  const { child, url, ended } = await start(['--port', '0', '--store', ':memory:', '--drain', '600'])
  const { port } = new URL(url)
  const check = () =>
    run(['healthcheck'], { TRACKPOST_COLLECTOR_PORT: port, TRACKPOST_COLLECTOR_HOST: '0.0.0.0' })

  expect(await check()).toMatchObject({ code: 0, out: expect.stringContaining('"status":"ready"') })
  child.kill('SIGTERM')
  await expect.poll(() => readiness(url)).toMatchObject({ code: 503, status: 'draining' })
  expect(await check()).toMatchObject({ code: 1, out: expect.stringContaining('"status":"draining"') })
  child.kill('SIGKILL')
  await ended
  const { code, out } = await check()
  expect(code).toBe(1)
  expect(out).toBe(
    `http://127.0.0.1:${port}/readyz does not respond (connect ECONNREFUSED 127.0.0.1:${port}): ` +
      'is the collector running, and are --host and --port the ones that it was started with?\n',
  )
})

test('all settings can come from the environment, and no log line contains a secret', async () => {
  const secrets = {
    TRACKPOST_ADMIN_TOKEN: 'the-admin-token',
    TRACKPOST_COLLECTOR_RELEASE_TO: 'https://release-key@127.0.0.1:9',
  }
  const { child, url, lines, stderr, ended } = await start([], {
    ...secrets,
    TRACKPOST_COLLECTOR_PORT: '0',
    TRACKPOST_COLLECTOR_STORE: ':memory:',
    TRACKPOST_COLLECTOR_BROWSER_ORIGIN: 'https://a.example,https://b.example',
    TRACKPOST_HOST: 'http://10.0.0.1:8787',
  })
  const origin = 'https://b.example'
  expect((await post({ url }, '/v1/track', track(), { origin })).status).toBe(200)
  expect((await fetch(`${url}/metrics`)).status).toBe(401)
  const headers = { authorization: 'Bearer the-admin-token' }
  expect((await fetch(`${url}/metrics`, { headers })).status).toBe(200)
  child.kill('SIGTERM')

  expect(await ended).toEqual([0, null])
  expect(stderr()).toBe('')
  for (const secret of ['the-admin-token', 'release-key']) expect(JSON.stringify(lines)).not.toContain(secret)
})

test.each([
  [
    'a misspelt variable',
    { TRACKPOST_COLLECTOR_DATABSE: 'x' },
    /TRACKPOST_COLLECTOR_DATABSE: no option has this name/,
  ],
  [
    'a drain that is not a number',
    { TRACKPOST_COLLECTOR_DRAIN: 'long' },
    /value 'long' from env 'TRACKPOST_COLLECTOR_DRAIN' is invalid\. Expected a whole number/,
  ],
])('%s is reported in one line, with exit code 1', async (_what, added, message) => {
  const { code, out, err } = await run(['--port', '0', '--store', ':memory:'], added)

  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(message)
})

test('a failed start is also logged as JSON', async () => {
  const first = await openCollector()

  const { code, out, err } = await run([
    '--port',
    String(first.port),
    '--store',
    ':memory:',
    '--log-format',
    'json',
  ])

  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(JSON.parse(out)).toMatchObject({ level: 'error', message: expect.stringContaining('is in use') })
})
