/** Settings, unusual hosts, and more than one client in a process. */
import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'vitest'
import {
  CANARIES,
  CANARY_KEY,
  expectHealthyHost,
  expectOracleRules,
  reportOf,
  runHost,
  serve,
  size,
} from './harness/lab.ts'
import { row } from './harness/row.ts'

row(
  'B61',
  'write keys, B62: hosts, B63: numbers, switches and functions with wrong values',
  'the constructor throws, names the setting, and shows no value',
  async (row) => {
    const run = await runHost({ args: { key: CANARY_KEY } }, (t) => {
      const { key } = t.args
      const numbers = [
        'maxRetries',
        'flushAt',
        'flushInterval',
        'httpRequestTimeout',
        'maxQueueSize',
        'maxQueueBytes',
        'maxConcurrentRequests',
        'maxTotalBackoffDuration',
        'maxRateLimitDuration',
        'exitTimeout',
      ]
      const cases: [string, Record<string, unknown> | null | undefined | string][] = [
        ...[
          undefined,
          '',
          '  ',
          5,
          null,
          {},
          `${key}\r\nX: y`,
          `${key}:`,
          `${key}\u0000`,
          `${key}é`,
          key.repeat(60),
        ].map((writeKey): [string, Record<string, unknown>] => ['writeKey', { writeKey }]),
        ...[
          'api.example.com',
          `https://user:${key}@example.com`,
          'https://example.com?a',
          'https://example.com#a',
          'file:///etc',
          'https://example.com:99999',
          5,
          {},
          '',
          'ftp://example.com',
          'https://',
          'javascript:1',
        ].map((host): [string, Record<string, unknown>] => ['host', { writeKey: key, host }]),
        ...numbers.flatMap((name) =>
          [Number.NaN, -1, '10', Number.POSITIVE_INFINITY, 1.5, 2 ** 53, null, {}].map(
            (value): [string, Record<string, unknown>] => [name, { writeKey: key, [name]: value }],
          ),
        ),
        ...['yes', 1, null].map((disable): [string, Record<string, unknown>] => [
          'disable',
          { writeKey: key, disable },
        ]),
        ...['mars', 5].map((region): [string, Record<string, unknown>] => [
          'region',
          { writeKey: key, region },
        ]),
        ...['drop', 5].map((overflow): [string, Record<string, unknown>] => [
          'overflow',
          { writeKey: key, overflow },
        ]),
        ...[5, 'fetch', {}].map((httpClient): [string, Record<string, unknown>] => [
          'httpClient',
          { writeKey: key, httpClient },
        ]),
        ['waitUntil', { writeKey: key, waitUntil: 5 }],
        ['path', { writeKey: key, path: '/a b' }],
        ['path', { writeKey: key, path: 5 }],
        ['settings', undefined],
        ['settings', null],
        ['settings', 'text'],
      ]
      const wrong: string[] = []
      for (const [setting, settings] of cases) {
        try {
          new t.pkg.Analytics(settings as never)
          wrong.push(
            `${setting} was accepted: ${typeof settings === 'object' ? JSON.stringify(Object.values(settings ?? {}).slice(-1)) : ''}`,
          )
        } catch (error) {
          const {
            name,
            setting: named,
            message,
          } = error as { name: string; setting?: string; message: string }
          if (name !== 'SettingsError' || named !== setting) wrong.push(`${setting}: ${name} ${named}`)
          if (message.includes(key) || t.inspect(error, { depth: 9 }).includes(key))
            wrong.push(`${setting}: shows the value`)
        }
      }
      return { count: cases.length, wrong: wrong.map((text) => text.replaceAll(key, '<key>')) }
    })

    const report = reportOf(run)
    const { count, wrong } = report.result as { count: number; wrong: string[] }
    row.injected(count, 100)
    expect(wrong).toEqual([])
    expect(run.exitCode).toBe(0)
    row.note('including B62 and B63')
  },
)

row('B64', 'unknown and misspelt settings', 'one warning, with all names', async (row) => {
  const server = await serve()

  const run = await runHost(
    { host: server.url, settings: { flushat: 5, nonsense: 1 } as never },
    async (t) => {
      const client = t.create()
      await t.trackAll(client, 0, 20)
      await t.close(client)
    },
  )

  const report = expectOracleRules(run, [await server.report()], { warnings: ['TRACKPOST_UNKNOWN_SETTING'] })
  row.injected(2)
  expect(report.warnings).toHaveLength(1)
  expect(report.warnings[0]?.message).toMatch(
    /unknown settings: flushat, nonsense; the settings are .*flushAt/,
  )
})

row(
  'B65',
  'S14: settings changed after construction, frozen, with getters, on a polluted prototype',
  'copied values, each read once',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      let reads = 0
      const settings = {
        ...t.settings,
        get flushAt() {
          reads++
          return 5
        },
      }
      Object.setPrototypeOf(settings, { disable: true, path: '/polluted' })
      const client = new t.pkg.Analytics(settings)
      t.watch(client)
      Object.assign(settings, { writeKey: 'other', host: 'http://127.0.0.1:9', path: '/other' })
      const frozen = new t.pkg.Analytics(Object.freeze({ ...t.settings }))
      t.watch(frozen)
      await t.trackAll(client, 0, 5)
      await t.trackAll(frozen, 5, 10)
      await t.close(client)
      await t.close(frozen)
      return reads
    })

    const report = reportOf(run)
    expectHealthyHost(run)
    row.injected(3)
    expect(report.result).toBe(1)
    const ledger = await server.report()
    expect(ledger.messages).toBe(10)
    expect(ledger.requests.every(({ path }) => path === '/v1/batch')).toBe(true)
  },
)

for (const [name, execArgv, env] of [
  ['no fetch', ['--no-experimental-fetch'], {}],
  [
    'S45: --permission with access to the file system only',
    ['--experimental-permission', '--allow-fs-read=*', '--allow-fs-write=*'],
    {},
  ],
  ['--frozen-intrinsics', ['--frozen-intrinsics'], {}],
  ['--throw-deprecation', [], { NODE_OPTIONS: '--throw-deprecation' }],
  ['--disable-proto=delete', ['--disable-proto=delete'], {}],
] as const) {
  row(
    'B66',
    `environment: ${name}`,
    'works, or the constructor throws a clear error; no crash at a later call',
    async (row) => {
      const server = await serve()

      const run = await runHost({ host: server.url, execArgv: [...execArgv], env: { ...env } }, async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 50)
        await client.flush()
        await t.close(client)
      })

      const report = reportOf(run)
      row.injected(1)
      expect(report.thrown).toBeUndefined()
      expect(report.uncaught).toEqual([])
      expect(run.exitCode).toBe(0)
      expect(report.byOutcome).toEqual({ delivered: 50 })
      const ledger = await server.report()
      expect(ledger.violations).toEqual([])
      expect(ledger.maxOpenConnections).toBeLessThanOrEqual(4)
    },
  )
}

row(
  'F76',
  'two clients in a process; 20 worker threads (4 in the default size)',
  'separate counters, no shared state, no id twice',
  async (row) => {
    const workers = size(4, 20)
    const each = size(200, 20_000)
    const server = await serve({ keepBytes: 0 })

    const run = await runHost(
      { host: server.url, args: { workers, each, ids: size(200_000, 10_000_000) }, limitMs: 280_000 },
      async (t) => {
        const one = t.create()
        const other = t.create({ flushAt: 1 })
        await t.trackAll(one, 0, 100)
        await t.trackAll(other, 100, 150)
        await t.close(one)
        const separate = [one.stats.accepted, other.stats.accepted]
        await t.close(other)
        const { Worker } = process.getBuiltinModule('node:worker_threads')
        const packageUrl = process
          .getBuiltinModule('node:url')
          .pathToFileURL(
            JSON.parse(
              process.getBuiltinModule('node:fs').readFileSync(process.env['FAULTS_JOB'] as string, 'utf8'),
            ).packageFile,
          ).href
        const source = `
          import(${JSON.stringify(packageUrl)}).then(async ({ Analytics }) => {
            const { parentPort } = require('node:worker_threads')
            const client = new Analytics(${JSON.stringify(t.settings)})
            for (let n = 0; n < ${t.args.each}; n++) {
              client.track({ userId: 'u', event: 'From a thread' })
              if (n % 500 === 499) await client.flush()
            }
            await client.closeAndFlush()
            parentPort.postMessage(client.stats)
          })`
        const stats = await Promise.all(
          Array.from(
            { length: t.args.workers },
            () =>
              new Promise<{ accepted: number; delivered: number }>((done, fail) => {
                const worker = new Worker(source, { eval: true })
                worker.once('message', done)
                worker.once('error', fail)
              }),
          ),
        )
        await t.sleep(100)
        return { separate, stats }
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(workers * each + 150)
    const { separate, stats } = report.result as {
      separate: number[]
      stats: { accepted: number; delivered: number }[]
    }
    expect(separate).toEqual([100, 50])
    for (const { accepted, delivered } of stats) expect([accepted, delivered]).toEqual([each, each])
    expect(ledger.distinct).toBe(workers * each + 150)
    expect(ledger.duplicates).toBe(0)
  },
  { timeoutMs: 300_000 },
)

row(
  'S01',
  'a canary write key in every form, in everything that can be read',
  'S04: 0 occurrences outside the request itself; the hooks show [redacted]',
  async (row) => {
    const server = await serve({
      script: (request, io) => {
        // The server quotes the write key in its responses, which must not lead to a leak.
        const { authorization = '' } = request.headers
        if (request.index % 3 === 0)
          return io.reply(
            400,
            { 'x-quoted': authorization, 'set-cookie': authorization },
            request.body.toString(),
          )
        if (request.index % 3 === 1)
          return io.raw(`HTTP/1.1 400 ${authorization}\r\ncontent-length: 0\r\n\r\n`)
        io.reply(302, { location: `http://${authorization.slice(6, 20).replace(/\W/g, '')}.example/` })
      },
    })

    const run = await runHost(
      { host: server.url, settings: { flushAt: 1 }, args: { canaries: CANARIES } },
      async (t) => {
        const client = t.create()
        const seen: string[] = []
        const look = (value: unknown): void => {
          seen.push(t.inspect(value, { depth: 20, showHidden: true }), JSON.stringify(value) ?? '')
        }
        for (const name of [
          'error',
          'track',
          'http_request',
          'http_response',
          'initialize',
          'register',
          'drained',
          'call_after_close',
        ] as never[]) {
          client.on(name, look)
        }
        // biome-ignore lint/suspicious/noExplicitAny: a plugin sees whatever it can
        const plugin: any = {
          name: 'Nosy',
          type: 'after',
          isLoaded: () => true,
          load: (...args: unknown[]) => look(args),
          track: (ctx: unknown) => {
            look(ctx)
            return ctx
          },
        }
        await client.register(plugin)
        for (let n = 0; n < 9; n++) {
          client.track({ userId: 'u', event: 'Seen' }, (error, ctx) => {
            look(error)
            look(error?.stack)
            look(ctx)
          })
          await client.flush()
        }
        for (const httpClient of [
          // An HTTP client that attaches the whole request to its error.
          async (url: string, request: { headers: unknown; body: unknown }) => {
            throw Object.assign(new Error(`could not send ${JSON.stringify(request)} to ${url}`), {
              request,
              code: 'E',
              cause: Object.assign(new Error(JSON.stringify(request.headers)), { config: request }),
            })
          },
        ]) {
          const other = t.create({ maxRetries: 0, httpClient: httpClient as never })
          other.on('error', look)
          other.track({ userId: 'u', event: 'Seen' }, look)
          await other.flush()
          look(other)
          await t.close(other)
        }
        look(client)
        look(client.stats)
        await t.close(client)
        client.track({ userId: 'u', event: 'Late' })
        await t.turn()
        const hits = seen.filter((text) => t.args.canaries.some((canary) => text.includes(canary)))
        const redacted = seen.filter((text) => text.includes('[redacted]')).length
        return {
          looks: seen.length,
          redacted,
          hits: hits.length,
          first: hits[0]?.slice(0, 300).replaceAll(t.args.canaries[0] ?? '', '<canary>'),
        }
      },
    )

    const report = reportOf(run)
    const { looks, redacted, hits, first } = report.result as {
      looks: number
      redacted: number
      hits: number
      first: string
    }
    row.injected(looks, 50)
    expect(first).toBeUndefined()
    expect(hits).toBe(0)
    expect(redacted).toBeGreaterThan(0)
    expect(report.leaks).toEqual([])
    row.note(`${looks} searches here, and every row of the suite searches its output, errors and clients`)
  },
)

row(
  'S01',
  'canary private key, client id, assertion and token, with servers that quote them',
  '0 occurrences in output, errors, causes, events, inspections',
  async (row) => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const token = 'canaryTokenb81f0d44'
    const api = await serve({
      script: (request, io) => {
        io.count('refused')
        const { authorization = '' } = request.headers
        if (request.index % 2 === 0) return io.reply(401, { 'x-quoted': authorization }, authorization)
        io.raw(`HTTP/1.1 400 ${authorization}\r\ncontent-length: 0\r\n\r\n`)
      },
    })
    const auth = await serve({
      state: { token },
      script: (request, io) => {
        io.count('asked')
        const quoted = request.body.toString().slice(0, 4_000)
        if (request.index % 4 === 3)
          return io.reply(400, {}, JSON.stringify({ error: 'invalid_client', error_description: quoted }))
        if (request.index % 4 === 2) return io.raw(`HTTP/1.1 503 ${quoted}\r\ncontent-length: 0\r\n\r\n`)
        io.reply(
          200,
          {},
          JSON.stringify({
            access_token: `${io.state['token']}${request.index}`,
            expires_in: 3_600,
            token_type: 'Bearer',
          }),
        )
      },
    })

    const run = await runHost(
      {
        host: api.url,
        args: { privateKey, token, authServer: auth.url },
        settings: { flushAt: 1, maxRetries: 1 },
        scale: 20,
      },
      async (t) => {
        const seen: string[] = []
        const look = (value: unknown): void => {
          seen.push(t.inspect(value, { depth: 20, showHidden: true }), JSON.stringify(value) ?? '')
        }
        const assertions: string[] = []
        const realFetch = globalThis.fetch
        globalThis.fetch = ((url: string, request: RequestInit) => {
          const assertion = new URLSearchParams(String(request.body)).get('client_assertion')
          if (assertion !== null) assertions.push(assertion)
          return realFetch(url, request)
        }) as typeof fetch
        const clientId = 'canaryClientId55c1'
        for (let round = 0; round < 4; round++) {
          const client = t.create({
            oauthSettings: {
              clientId,
              clientKey: t.args.privateKey,
              keyId: 'canaryKeyId',
              authServer: t.args.authServer,
            },
          })
          for (const name of [
            'error',
            'track',
            'http_request',
            'http_response',
            'initialize',
            'drained',
          ] as const) {
            client.on(name as 'error', look)
          }
          for (let n = 0; n < 3; n++) {
            client.track({ userId: 'u', event: 'Seen' }, (error, ctx) => {
              look(error)
              look(error?.stack)
              look(ctx)
            })
            await client.flush({ timeout: 20_000 })
          }
          look(client)
          await t.close(client, { timeout: 20_000 })
        }
        // The token, the beginning of each line of the key, and the claims and signatures of all assertions.
        const lines = t.args.privateKey.split('\n').filter((line) => line !== '' && !line.startsWith('-----'))
        const secrets = [
          t.args.token,
          ...lines.map((line) => line.slice(0, 24)),
          ...assertions.flatMap((one) => one.split('.').slice(1)),
        ]
        const hits = secrets.filter((secret) => seen.some((text) => text.includes(secret)))
        return {
          looks: seen.length,
          assertions: assertions.length,
          hits: hits.length,
          errors: t.report.errors,
        }
      },
    )

    const report = reportOf(run)
    const { looks, assertions, hits } = report.result as { looks: number; assertions: number; hits: number }
    row.injected(
      ((await api.report()).counts['refused'] ?? 0) + ((await auth.report()).counts['asked'] ?? 0),
      8,
    )
    expect(report.thrown).toBeUndefined()
    expect(assertions).toBeGreaterThanOrEqual(4)
    expect(looks).toBeGreaterThan(40)
    expect(hits).toBe(0)
    const output = run.stdout + run.stderr
    for (const secret of [token, ...privateKey.split('\n').slice(1, -2)])
      expect(output).not.toContain(secret.slice(0, 24))
    expect(run.exitCode).toBe(0)
    row.note(`${looks} searches, ${assertions} assertions`)
  },
)
