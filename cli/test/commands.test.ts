import { describe, expect, test } from 'vitest'
import { ndjson, newFile, run, shareCollector, startServer } from './support.ts'

const collector = shareCollector()
const NOWHERE = 'http://127.0.0.1:1'

describe('send', () => {
  test.each([
    [
      'track',
      ['--event', 'Signed Up', '--property', 'plan=pro', '--property', 'total:=4.5', '--property', 'a.b=c'],
      { event: 'Signed Up', properties: { plan: 'pro', total: 4.5, a: { b: 'c' } } },
    ],
    [
      'identify',
      ['--traits', '{"plan":"free"}', '--trait', 'plan=pro', '--timestamp', '2024-01-02'],
      { traits: { plan: 'pro' } },
    ],
    [
      'page',
      ['--name', 'Home', '--category', 'Docs', '--integration', 'All:=false'],
      { name: 'Home', integrations: { All: false } },
    ],
    ['screen', ['--name', 'Cart', '--context', 'ip=1.2.3.4'], { name: 'Cart', context: { ip: '1.2.3.4' } }],
    [
      'group',
      ['--group-id', 'acme', '--anonymous-id', 'visitor'],
      { groupId: 'acme', anonymousId: 'visitor' },
    ],
    [
      'alias',
      ['--previous-id', 'visitor', '--message-id', 'm-1'],
      { previousId: 'visitor', messageId: 'm-1' },
    ],
  ])('%s delivers an event with the values of its flags', async (kind, flags, message) => {
    const { code, stdout, stderr } = await run(['send', kind, '--user-id', 'ada', ...flags], {
      env: collector.env,
    })

    expect([code, stderr]).toEqual([0, ''])
    const [event] = await collector.events()
    expect(stdout).toBe(`${kind} delivered, messageId ${event?.messageId}\n`)
    expect(event).toMatchObject({ status: 'accepted', type: kind, userId: 'ada', message })
  })

  test('--json prints the result of a delivered and of a failed event', async () => {
    const sent = await run(['send', 'track', '--user-id', 'ada', '--event', 'Paid', '--json'], {
      env: collector.env,
    })
    const server = await startServer(() => 401)
    const failed = await run(['send', 'track', '--user-id', 'ada', '--event', 'Paid', '--json'], {
      env: server.env,
    })

    expect([sent.code, JSON.parse(sent.stdout)]).toEqual([
      0,
      { type: 'track', delivered: true, messageId: expect.any(String), problem: null },
    ])
    expect([failed.code, JSON.parse(failed.stdout)]).toMatchObject([
      1,
      { delivered: false, problem: { code: 'auth', status: 401 } },
    ])
  })

  test.each([
    ['no identity', ['track', '--event', 'x'], 'track: expected --user-id or --anonymous-id, got neither'],
    ['no name', ['track', '--user-id', 'ada'], 'track: --event: expected a non-empty string'],
    ['an option of another event kind', ['alias', '--event', 'x'], "unknown option '--event'"],
    ['a bad value', ['track', '--property', 'total:=4,5'], '--property: total: expected JSON after ":="'],
    [
      'no value',
      ['track', '--property', 'total'],
      '--property: expected name=text or name:=JSON, got "total"',
    ],
    ['an unknown event kind', ['buy'], "unknown command 'buy'"],
    [
      'no previous id',
      ['alias', '--user-id', 'ada'],
      'alias: --previous-id: expected a non-empty string, got none',
    ],
    [
      'a timestamp that is a number',
      ['track', '--timestamp', '17'],
      '--timestamp: expected ISO 8601, for example 2024-02-01T09:30:00Z, got "17"',
    ],
    [
      'properties that are not an object',
      ['track', '--properties', '[1]'],
      '--properties: expected a JSON object',
    ],
  ])('%s is wrong usage', async (_label, args, message) => {
    const { code, stdout, stderr } = await run(['send', ...args], { env: collector.env })

    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`trackpost: ${message}`)
    expect(await collector.events()).toEqual([])
  })

  test('an unreachable service is an error with exit code 1', async () => {
    const env = { ...collector.env, TRACKPOST_HOST: NOWHERE }
    const { code, stderr } = await run(
      ['send', 'track', '--user-id', 'a', '--event', 'e', '--max-retries', '0'],
      { env },
    )

    expect([code, stderr]).toEqual([1, 'trackpost: connect ECONNREFUSED 127.0.0.1:1\n'])
  })
})

describe('verify', () => {
  test('succeeds for a service that accepts the key', async () => {
    const { code, stdout } = await run(['verify'], { env: collector.env })

    expect([code, stdout]).toEqual([0, `${collector.url}/v1/batch: accepts the write key (200)\n`])
    expect(await collector.events()).toEqual([])
  })

  test('fails for a service that refuses the key, and for an unreachable service', async () => {
    const server = await startServer(() => 401)
    const refused = await run(['verify', '--json'], { env: server.env })
    const down = await run(['verify', '--host', NOWHERE], { env: server.env })

    expect([refused.code, JSON.parse(refused.stdout)]).toMatchObject([
      1,
      { reachable: true, authorized: false, status: 401 },
    ])
    expect([down.code, down.stdout]).toEqual([
      1,
      expect.stringContaining('cannot be reached\nconnect ECONNREFUSED'),
    ])
  })

  test('says that the clock is off, and names a proxy that the client does not use', async () => {
    const ahead = await startServer((_request, _ids, response) => {
      response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
      return undefined
    })
    const clock = await run(['verify'], { env: ahead.env })
    const env = { ...ahead.env, TRACKPOST_HOST: NOWHERE, HTTPS_PROXY: 'http://127.0.0.1:1' }
    const proxy = await run(['verify', '--json'], { env })

    expect(clock.stderr).toMatch(
      /^trackpost: the clock of this machine is (59 min \d+ s|1 h 0 min) behind that of the service\n$/,
    )
    expect(JSON.parse(proxy.stdout).hint).toMatch(/ECONNREFUSED.*; HTTPS_PROXY is set, but/)
  })
})

describe('settings', () => {
  const send = ['send', 'track', '--user-id', 'ada', '--event', 'Paid']

  /** The collector names the source of an event after the write key of the request. */
  async function sourceOf(
    args: readonly string[],
    env: Record<string, string>,
    cwd?: string,
  ): Promise<unknown> {
    const { code, stderr } = await run([...send, ...args], {
      env: { TRACKPOST_HOST: collector.url, ...env },
      ...(cwd && { cwd }),
    })
    expect([code, stderr]).toEqual([0, ''])
    return ((await collector.events())[0] as unknown as { source: string }).source
  }

  const file = (key: string): string => newFile('key', `${key}\n`)

  test('flags win over the environment', async () => {
    const environment = { TRACKPOST_WRITE_KEY: 'from-environment' }

    expect(await sourceOf(['--write-key-file', file('from-file')], environment)).toBe('from-file')
    await fetch(`${collector.url}/api/events`, { method: 'DELETE' })
    expect(await sourceOf(['--write-key', 'from-flag'], environment)).toBe('from-flag')
    await fetch(`${collector.url}/api/events`, { method: 'DELETE' })
    expect(await sourceOf([], environment)).toBe('from-environment')
  })

  test('an invalid region is an error, but a host in the flags wins over a region in the environment', async () => {
    const args = ['verify', '--region', 'nowhere']
    const { code, stderr } = await run(args, { env: collector.env })

    expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are default, eu')])
    const env = { TRACKPOST_WRITE_KEY: 'k', TRACKPOST_REGION: 'mars' }
    expect(await run(['verify'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('got mars'),
    })
    expect((await run(['verify', '--host', collector.url], { env })).code).toBe(0)
  })

  test.each([
    ['no key', [], {}, 'no write key: use --write-key-file <path>, or set TRACKPOST_WRITE_KEY'],
    [
      'a missing key file',
      ['--write-key-file', '/nowhere'],
      {},
      'write key file /nowhere: there is no such file',
    ],
    ['an empty key file', ['--write-key-file', '/dev/null'], {}, 'write key file /dev/null: it is empty'],
    [
      'two keys at once',
      ['--write-key', 'a', '--write-key-file', '/dev/null'],
      {},
      'the flags: expected a write key or a file with one, got both',
    ],
    [
      'a key with quotes',
      [],
      { TRACKPOST_WRITE_KEY: '"shop"' },
      'the environment: the write key has quotes around it: remove them',
    ],
    ['an invalid host', ['--write-key', 'a', '--host', 'example.com'], {}, 'host: '],
  ])('%s is an error', async (_label, args, env, message) => {
    const { code, stderr } = await run(['verify', ...args], { env })

    expect(code).toBe(2)
    expect(stderr.startsWith(`trackpost: ${message}`)).toBe(true)
  })

  test('no output contains the write key', async () => {
    const key = 'canary-7f3a'
    const server = await startServer(() => 401)
    const env = { ...server.env, TRACKPOST_WRITE_KEY: '' }
    const all = await Promise.all([
      run(['verify', '--write-key', key], { env }),
      run(['send', 'track', '--user-id', 'a', '--event', 'e', '--write-key', key], { env }),
      run(['import', newFile('a.ndjson', ndjson(3)), '--write-key', key], { env }),
      run(['import', newFile('a.ndjson', ndjson(3)), `--write-key=${key}`, '--json'], { env }),
    ])

    expect(all.map(({ code }) => code)).toEqual([1, 1, 1, 1])
    for (const { stdout, stderr } of all) expect(stdout + stderr).not.toContain(key)
  })
})

test('help and version are printed; a missing or unknown command is an error', async () => {
  const [help, version, none, wrong] = await Promise.all([
    run(['import', '--help']),
    run(['--version']),
    run([]),
    run(['improt']),
  ])

  expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('--write-key-file <path>')])
  expect([version.code, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('Usage: trackpost')])
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean import?')])
})
