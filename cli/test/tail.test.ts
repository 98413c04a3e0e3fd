import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import {
  launcher,
  newFile,
  run,
  serve,
  shareCollector,
  start,
  startCollector,
  type TestCollector,
} from './support.ts'

const collector = shareCollector()

function track(to: TestCollector, event: string, fields: object = {}): Promise<Response> {
  return to.post('/v1/track', { writeKey: 'web', userId: 'ada', event, ...fields })
}

test('prints existing and new events, each once and in order', async () => {
  for (const name of ['one', 'two', 'three']) await track(collector, name)
  const tail = start(['tail', collector.url, '-n', '2'])
  await tail.prints('three')

  for (let index = 0; index < 5; index++) await track(collector, `live ${index}`)
  await tail.prints('live 4')
  tail.child.kill('SIGINT')

  const { code, stdout, stderr } = await tail.ended
  expect([code, stderr]).toEqual([0, ''])
  const names = [...stdout.matchAll(/track {5}(.*?) {2}ada/g)].map(([, name]) => name)
  expect(names).toEqual(['two', 'three', 'live 0', 'live 1', 'live 2', 'live 3', 'live 4'])
})

test('with --count, prints the newest of the existing events', async () => {
  for (const name of ['one', 'two', 'three']) await track(collector, name)

  const { code, stdout } = await run(['tail', collector.url, '--count', '2', '--json'])

  const names = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).name)
  expect([code, names]).toEqual([0, ['two', 'three']])
})

test('prints all new events, even if they do not fit in one page of the API', async () => {
  const batch = (from: number): object => ({
    writeKey: 'web',
    batch: Array.from({ length: 500 }, (_, index) => ({
      type: 'track',
      userId: 'ada',
      event: `e${from + index}`,
    })),
  })
  await track(collector, 'first')
  const tail = start(['tail', collector.url, '--json', '--count', '2500'])
  await tail.prints('first')

  for (let from = 0; from < 2_500; from += 500) await collector.post('/v1/batch', batch(from))

  const { code, stdout } = await tail.ended
  const names = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).name)
  expect(code).toBe(0)
  expect(names).toEqual(['first', ...Array.from({ length: 2_499 }, (_, index) => `e${index}`)])
})

test('a search line filters the events', async () => {
  await track(collector, 'Paid', { properties: { total: 5 } })
  await track(collector, 'Paid', { properties: { total: 500 } })

  const { stdout } = await run([
    'tail',
    collector.url,
    '-s',
    'event:Paid properties.total>100',
    '--count',
    '1',
  ])

  expect(stdout).toMatch(/Paid {2}ada {2}total=500\n$/)
})

test('an error in the search line is reported with its position', async () => {
  const { code, stderr } = await run(['tail', collector.url, '--search', 'event:Paid user:('])

  expect(code).toBe(2)
  expect(stderr).toMatch(/^trackpost: search: .*\n {2}event:Paid user:\(\n +\^+\n$/)
})

test('--json prints whole events, and colours appear only when asked for', async () => {
  await track(collector, 'Paid')
  const [json, plain, colored] = await Promise.all([
    run(['tail', collector.url, '--json', '--count', '1']),
    run(['tail', collector.url, '--count', '1']),
    run(['tail', collector.url, '--color', '--count', '1']),
  ])

  expect(JSON.parse(json.stdout)).toMatchObject({ name: 'Paid', message: { event: 'Paid', userId: 'ada' } })
  expect(plain.stdout).not.toContain('\u001b')
  expect(colored.stdout).toContain('\u001b[32mtrack')
})

test('event names cannot forge lines or colours', async () => {
  await track(collector, 'a\nb\u001b[31m\u202e', { properties: { 'x\ny': '\u0007' } })

  const { stdout } = await run(['tail', collector.url, '--count', '1'])

  expect(stdout).toContain('a\\u000ab\\u001b[31m\\u202e')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
  expect(stdout.trimEnd()).not.toMatch(/[\u0000-\u001f\u202e]/)
})

test('rejected events are printed with their reason', async () => {
  await collector.post('/v1/track', { writeKey: 'web', userId: 'ada' })

  const { stdout } = await run(['tail', collector.url, '--count', '1'])

  expect(stdout).toContain('rejected: no_event')
})

test('reconnects to a restarted collector, and prints the events that arrived in the meantime', async () => {
  const database = newFile('events.db', '')
  const first = await startCollector('--store', database)
  const port = new URL(first.url).port
  await track(first, 'before')
  const tail = start(['tail', first.url])
  await tail.prints('before')
  await first.stop()
  await tail.prints('; trying again')

  const second = await startCollector('--store', database, '--port', port)
  await track(second, 'after')
  await tail.prints('after')
  tail.child.kill('SIGINT')

  const { stdout, stderr } = await tail.ended
  expect(stderr).toContain('connected')
  expect(stdout.match(/before/g)?.length).toBe(1)
})

test('after all events of the collector were deleted, new events are printed', async () => {
  const own = await startCollector()
  await track(own, 'old')
  const tail = start(['tail', own.url])
  await tail.prints('old')

  await fetch(`${own.url}/api/events`, { method: 'DELETE' })
  await tail.prints('events of the collector were deleted')
  await track(own, 'new')
  await tail.prints('new')
})

test('the admin token is read from a file or the environment', async () => {
  const own = await startCollector('--admin-token', 'secret-token')
  await track(own, 'Paid')
  const without = await run(['tail', own.url, '--count', '1'])
  const withFile = await run([
    'tail',
    own.url,
    '--count',
    '1',
    '--admin-token-file',
    newFile('token', 'secret-token\n'),
  ])
  const withEnv = await run(['tail', own.url, '--count', '1'], {
    env: { TRACKPOST_ADMIN_TOKEN: 'secret-token' },
  })
  const withWrong = await run(['tail', own.url, '--count', '1'], {
    env: { TRACKPOST_ADMIN_TOKEN: 'other-token' },
  })

  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('TRACKPOST_ADMIN_TOKEN')])
  expect([withFile.code, withEnv.code]).toEqual([0, 0])
  expect([withWrong.code, withWrong.stderr]).toEqual([1, expect.stringContaining('refuses the admin token')])
  expect(withWrong.stderr).not.toContain('other-token')
})

test('a temporary failure of the collector is reported once, with its message', async () => {
  const body = JSON.stringify({
    success: false,
    code: 'storage',
    message: 'the store is unavailable: /readyz says why',
  })
  const { host } = new URL(await serve((_request, response) => response.writeHead(503).end(body)))
  const tail = start(['tail', host])
  await tail.prints('trying again')
  tail.child.kill('SIGTERM')

  const { stderr } = await tail.ended

  expect(stderr).toContain(
    `${host}: it responds with 503 (the store is unavailable: /readyz says why); trying again`,
  )
  expect(stderr.split(host)).toHaveLength(2)
})

test('a collector that is not there, or whose host is unknown, gets a hint, and is tried again', async () => {
  const gone = await startCollector()
  await gone.stop()
  const hints = [
    [gone.url, 'ECONNREFUSED; trying again. Is there a collector? npx trackpost-collector starts one'],
    ['http://nowhere.invalid', 'ENOTFOUND; trying again. Is the name of the host right?'],
  ] as const
  for (const [url, hint] of hints) {
    const tail = start(['tail', url])
    await tail.prints('trying again')
    tail.child.kill('SIGTERM')

    expect((await tail.ended).stderr).toContain(hint)
  }
})

test('https for a collector without TLS is an error that says what to write', async () => {
  const collector = await startCollector()

  const { code, stderr } = await run(['tail', collector.url.replace('http:', 'https:')])

  expect([code, stderr]).toEqual([2, expect.stringContaining('does not speak TLS: write http://')])
})

test('a server that is not a collector is an error, and so is an invalid address', async () => {
  const url = await serve((_request, response) => response.writeHead(404).end('<h1>Not here</h1>'))
  const other = await run(['tail', new URL(url).host])
  const none = await run(['tail', 'ftp://x'])
  const secret = await run(['tail', 'http://a:b@127.0.0.1'])

  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringContaining('is not a collector: /api/stats has status 404'),
  ])
  expect([none.code, secret.code]).toEqual([2, 2])
})

test.each([
  ['a port that HTTP clients refuse', ['http://127.0.0.1:1'], 'port 1 '],
  ['port 0', ['127.0.0.1:0'], 'got 0'],
  ['the path of events', ['http://127.0.0.1:8787/v1/batch'], 'ends in /v1/batch; leave this out'],
  ['an invalid port', ['http://127.0.0.1:99999'], 'expected the address'],
])('a permanent failure is not retried: %s', async (_what, args, text) => {
  const tail = start(['tail', ...args])
  // A command that retries would never end, so the test kills it.
  void tail.prints('; trying again').then(
    () => tail.child.kill('SIGKILL'),
    () => {},
  )

  const { code, stderr } = await tail.ended

  expect([code, stderr.trimEnd().split('\n')]).toEqual([2, [expect.stringContaining(text)]])
})

test('a token that cannot be sent in a header is refused, and not printed', async () => {
  const tail = start(['tail', collector.url], { env: { TRACKPOST_ADMIN_TOKEN: 'secret\ntoken' } })
  void tail.prints('; trying again').then(
    () => tail.child.kill('SIGKILL'),
    () => {},
  )

  const { code, stderr } = await tail.ended

  expect([code, stderr]).toEqual([2, expect.stringContaining('admin token: expected')])
  expect(stderr).not.toContain('secret')
})

test('ends when the reader of its output is gone', async () => {
  for (let index = 0; index < 20; index++) await track(collector, `e${index}`)
  const child = spawn('sh', [
    '-c',
    `"$0" "$1" tail ${collector.url} -n 20 | head -n 1`,
    process.execPath,
    launcher(),
  ])
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')

  // The command notices the closed pipe when it writes the next line.
  const more = setInterval(() => void track(collector, 'more').catch(() => {}), 50)
  onTestFinished(() => clearInterval(more))

  expect(await ended).toEqual([0, null])
})
