import { once } from 'node:events'
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defaultStore } from '../src/cli/default-store.ts'
import { startCollector } from '../src/index.ts'
import { newDatabaseFile, newFolder, run as runCommand, start as startCommand } from './support/process.ts'
import { openCollector, post, track } from './support.ts'

const run = (...args: string[]) => runCommand(args)
const start = (...args: string[]) => startCommand(['--port', '0', ...args])

test('O24: the start names the database file, which is in the data folder of the user, and none if there is no file', async () => {
  const folder = realpathSync(newFolder())
  const linesOf = async (...args: string[]) => {
    const { child, lines } = await startCommand(['--port', '0', ...args], {
      HOME: folder,
      XDG_DATA_HOME: folder,
    })
    child.kill('SIGINT')
    await once(child, 'close')
    return lines.join('\n')
  }
  const own = join(folder, 'own.db')
  const usual = defaultStore({ XDG_DATA_HOME: folder }, process.platform, folder)

  expect(await linesOf('--store', own)).toContain(`stored in ${own}: the newest 100000`)
  expect(await linesOf('--store', ':memory:')).not.toContain('stored in')
  expect(existsSync(usual)).toBe(false)
  expect(await linesOf()).toContain(`stored in ${usual}: `)
  expect(existsSync(usual)).toBe(true)
})

test.each([
  ['linux', {}, '/home/ada/.local/share/trackpost/trackpost-collector.db'],
  ['linux', { XDG_DATA_HOME: '/data' }, '/data/trackpost/trackpost-collector.db'],
  ['linux', { XDG_DATA_HOME: 'data' }, '/home/ada/.local/share/trackpost/trackpost-collector.db'],
  [
    'darwin',
    { XDG_DATA_HOME: '/data' },
    '/home/ada/Library/Application Support/trackpost/trackpost-collector.db',
  ],
  ['win32', {}, '\\home\\ada\\AppData\\Local\\trackpost\\trackpost-collector.db'],
  ['win32', { LOCALAPPDATA: 'D:\\Data' }, 'D:\\Data\\trackpost\\trackpost-collector.db'],
] as const)('the default file on %s with %j is %s', (platform, environment, path) => {
  expect(defaultStore(environment, platform, '/home/ada')).toBe(path)
})

test('SIGTERM ends the collector with 0, even if nobody reads its output any more', async () => {
  const { child, url } = await start('--store', ':memory:')
  child.stdout?.destroy()
  child.stderr?.destroy()

  expect((await post({ url }, '/v1/track', track())).status).toBe(200)
  child.kill('SIGTERM')

  // The collector writes its last line to a closed pipe.
  expect(await once(child, 'exit')).toEqual([0, null])
})

const folder = newFolder()
const plan = join(folder, 'plan.json')
writeFileSync(
  plan,
  JSON.stringify({
    additionalEvents: false,
    track: { Order: { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] } },
    identify: { type: 'object', required: ['email'] },
  }),
)

test('check lists every rule of the plan that stored events break, and exits with 1', async () => {
  const database = newDatabaseFile()
  const collector = await openCollector({ store: database })
  await post(collector, '/v1/batch', {
    batch: [
      track({ event: 'Order', properties: { total: 1 } }),
      track({ event: 'Order', properties: { total: '1' } }),
      track({ event: 'Order', properties: { total: '2' } }),
      track({ event: 'Ordr\n', properties: {} }),
      { type: 'identify', userId: 'u', traits: {} },
      { type: 'alias', userId: 'u', previousId: 'p' },
      track({ event: 'Order', userId: undefined, properties: {} }),
    ],
  })
  await collector.close()

  expect(await run('check', '--plan', plan, '--store', database)).toEqual({
    code: 1,
    out: [
      'track:Order: properties.total must be number (2 events, the first is 2)',
      'track:Ordr : event is not in the plan (event 4)',
      'identify: traits.email is missing (event 5)',
      '6 events checked, 3 rules broken\n',
    ].join('\n'),
    err: '',
  })
  expect(await run('check', '--plan', plan, '--store', database, '--search', 'type:alias')).toMatchObject({
    code: 0,
    out: '1 event checked, 0 rules broken\n',
  })
})

test('the options of the command line take effect', async () => {
  const { url } = await start(
    ...['--store', ':memory:', '--admin-token', 'a-long-token', '--plan', plan],
    ...['--browser-origin', 'https://a.example', '--browser-origin', 'https://b.example'],
  )
  const send = (origin: string) =>
    post({ url }, '/v1/track', track({ event: 'Order', properties: {} }), { origin })
  const headers = { authorization: 'Bearer a-long-token' }
  const ask = async (path: string) => (await fetch(`${url}/api/${path}`, { headers })).json()

  expect((await send('https://b.example')).status).toBe(200)
  expect((await send('https://c.example')).status).toBe(403)
  expect((await fetch(`${url}/api/stats`)).status).toBe(401)
  expect(await ask('events?q=violation:*')).toMatchObject({ events: [{ name: 'Order', violations: 1 }] })
})

test('a port that is in use is reported in one line, with exit code 1', async () => {
  const first = await openCollector()

  const { code, err } = await run('--port', String(first.port), '--store', ':memory:')

  expect(code).toBe(1)
  expect(err).toBe(`trackpost-collector: port ${first.port} is in use; use --port <another>\n`)
})

const wrong = join(folder, 'wrong.json')
writeFileSync(wrong, JSON.stringify({ rates: 5, hostNames: 'mars' }))

test.each([
  ['a port that is not a number', ['--port', 'http'], /'http' is invalid\. Expected a whole number/],
  ['a misspelt option with a secret', ['--admin-tokn=a-long-secret'], /: unknown option '--admin-tokn'; see/],
  [
    'an option in the place of a value',
    ['--admin-token', '--allow-public', '--store', ':memory:'],
    /: --admin-token: expected a value that does not begin with -/,
  ],
  ['an empty value', ['check', '--plan='], /: --plan: expected a value/],
  ['a misspelt command', ['worker'], /unknown command 'worker': the commands are keygen, check, tail;/],
  ['a config file with wrong settings', ['--config', wrong], /wrong\.json: .*hostNames.*rates/],
  [
    'a file that is not a database',
    ['--store', wrong],
    /: store: .*wrong\.json was not touched: it is not a database/,
  ],
  ['an address that is not loopback', ['--host', '0.0.0.0', '--store', ':memory:'], /--allow-public/],
  ['a missing plan', ['check', '--plan', join(folder, 'none.json')], /none\.json cannot be read/],
  ['a missing database', ['check', '--plan', plan, '--store', join(folder, 'no')], /no does not exist/],
])('%s is reported in one line, with exit code 1', async (_case, args, message) => {
  const { code, out, err } = await run(...args)

  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/^trackpost-collector: [^\n]+\n$/)
  expect(err).toMatch(message)
})

test.skipIf(process.platform === 'win32')(
  'without a folder for the database, the collector says so',
  async () => {
    expect(await runCommand([], { HOME: '/dev/null', XDG_DATA_HOME: '/dev/null' })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^trackpost-collector: --store: expected a file, .* mkdir '\/dev\/null/),
    })
  },
)

test.each(['-h', 'check --help', '--version'])('%s prints its text', async (args) => {
  expect(await run(...args.split(' '))).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^(Usage: trackpost-collector |\d+\.)/),
    err: '',
  })
})

test('TRACKPOST_ADMIN_TOKEN sets the admin token, which may begin with a dash, and end with a line break', async () => {
  const token = { TRACKPOST_ADMIN_TOKEN: '--a-secret-with-dashes\n' }
  const { url } = await startCommand(['--port', '0', '--store', ':memory:'], token)

  const headers = { authorization: 'Bearer --a-secret-with-dashes' }
  expect((await fetch(`${url}/api/about`, { headers })).status).toBe(200)
  expect((await fetch(`${url}/api/about`)).status).toBe(401)
})

test('the settings that keygen prints for the SDK and for the config work together', async () => {
  const { code, out } = await run('keygen', '--client-id', 'shop', '--key-id', 'k1')

  expect(code).toBe(0)
  const [sdk, config] = [...out.matchAll(/^\{[\s\S]*?^\}/gm)].map(([text]) => JSON.parse(text))
  expect(sdk.oauthSettings).toMatchObject({ clientId: 'shop', keyId: 'k1' })
  expect(sdk.oauthSettings.clientKey).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  await (await startCollector({ port: 0, config })).close()
})

test('F124: on SIGTERM, the request in flight is finished', async () => {
  const database = newDatabaseFile()
  const { child, url } = await start('--store', database)
  const body = JSON.stringify(track({ messageId: 'under-way' }))
  let finish = () => {}
  const stream = new ReadableStream({
    start(controller) {
      const bytes = new TextEncoder().encode(body)
      controller.enqueue(bytes.subarray(0, 20))
      finish = () => {
        controller.enqueue(bytes.subarray(20))
        controller.close()
      }
    },
  })
  const init = {
    method: 'POST',
    body: stream,
    duplex: 'half',
    headers: { 'content-type': 'application/json' },
  }
  const answer = fetch(`${url}/v1/track`, init as RequestInit)
  await expect.poll(() => fetch(`${url}/api/stats`).then((r) => r.status)).toBe(200)

  child.kill('SIGTERM')
  await expect
    .poll(() =>
      fetch(`${url}/api/stats`).then(
        () => 'open',
        () => 'closed',
      ),
    )
    .toBe('closed')
  finish()

  const { status, headers } = await answer
  expect(status).toBe(200)
  // A keep-alive connection would delay the exit until its time limit.
  expect(headers.get('connection')).toBe('close')
  expect(await once(child, 'exit')).toEqual([0, null])
  const after = await openCollector({ store: database })
  expect(after.events()).toMatchObject([{ messageId: 'under-way' }])
})
