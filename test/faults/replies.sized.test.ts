/** Responses with every status, and responses that are not HTTP. */
import { expect } from 'vitest'
import { expectOracleRules, runHost, serve, size } from './harness/lab.ts'
import { row } from './harness/row.ts'

for (const [name, raw, allowed] of [
  ['one 103', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nOK', ['delivered']],
  ['fifty 103s', `${'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(50)}OK`, ['delivered']],
  ['102', 'HTTP/1.1 102 Processing\r\n\r\nOK', ['delivered']],
  ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\nOK', ['delivered']],
  [
    '101',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ['retries_exhausted'],
  ],
  ['only 103s, for ever', 'HTTP/1.1 103 Early Hints\r\n\r\n', ['retries_exhausted']],
] as const) {
  row('F21', name, `all events end as ${allowed.join(' or ')}`, async (row) => {
    const server = await serve({
      state: { raw, isEndless: name.endsWith('ever') },
      script: async (_request, io) => {
        io.count('informational')
        const raw = String(io.state['raw'])
        if (!raw.endsWith('OK')) {
          do {
            io.raw(raw)
            await io.sleep(50)
          } while (io.state['isEndless'] === true && !io.socket.destroyed)
          return
        }
        io.raw(raw.slice(0, -2))
        io.reply(200)
      },
    })

    const run = await runHost(
      { host: server.url, settings: { maxRetries: 1, httpRequestTimeout: 4_000 } },
      async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 20)
        await client.flush()
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], {
      failures: ['retries_exhausted'],
      lateAcknowledgements: true,
    })
    row.injected(ledger.counts['informational'] ?? 0)
    const [outcome = ''] = Object.keys(report.byOutcome)
    expect(allowed).toContain(outcome)
    expect(report.byOutcome[outcome]).toBe(20)
    if (outcome === 'delivered') expect(ledger.requests).toHaveLength(1)
  })
}

row(
  'F22',
  'S13: redirects 301, 302, 303, 307, 308 to the same path, another path, another origin, a loop, file:',
  'never followed, never delivered; the error names the status and the host of the target',
  async (row) => {
    const target = await serve()
    const statuses = [301, 302, 303, 307, 308]
    const server = await serve({
      script: (request, io) => {
        io.count('redirected')
        const { status, location } = JSON.parse(JSON.parse(request.body.toString()).batch[0].context.redirect)
        io.reply(status, { location })
      },
    })
    const locations = [
      '/v1/batch',
      '/elsewhere',
      `${target.url}/v1/batch`,
      `${server.url}/v1/batch`,
      'file:///etc/passwd',
      'http://[bad',
    ]

    const run = await runHost(
      { host: server.url, args: { statuses, locations }, settings: { flushAt: 1 } },
      async (t) => {
        // A client for each: after a refusal, a client waits before it asks again.
        const one = async (status: number, location: string): Promise<string> => {
          const client = t.create()
          let message = ''
          client.track(
            { userId: 'u', event: 'Redirected', context: { redirect: JSON.stringify({ status, location }) } },
            (error) => {
              message = `${error?.code} ${error?.message}`
            },
          )
          await t.close(client)
          return message
        }
        const { statuses, locations } = t.args
        return Promise.all(statuses.flatMap((status) => locations.map((location) => one(status, location))))
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { otherCalls: true, failures: ['rejected'] })
    row.injected(ledger.counts['redirected'] ?? 0, 30)
    const messages = report.result as string[]
    expect(messages).toHaveLength(30)
    expect((await target.report()).connections).toBe(0)
    expect(ledger.requests).toHaveLength(30)
    for (const [index, message] of messages.entries()) {
      expect(message).toMatch(new RegExp(`^rejected \\[${statuses[Math.floor(index / locations.length)]}\\]`))
    }
    expect(messages[2]).toContain(`the redirect to 127.0.0.1:${target.port} was not followed`)
    expect(messages.join()).not.toContain('/etc/passwd')
  },
)

/**
 * Raw responses. `!` marks responses that are not valid HTTP: the client must retry. `?` marks those that break after
 * valid 2xx headers: one retry is allowed. The others are valid, and lead to no retry.
 */
const RAW: Record<string, string> = {
  '!bad status line': 'HELLO\r\n\r\n',
  '!HTTP/9.9': 'HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n',
  '!NUL in a header': 'HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n',
  '!two content-lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
  '!header of 200 KB': `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\ncontent-length: 0\r\n\r\n`,
  '!header of 20 KB': `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`,
  '!status of two digits': 'HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n',
  '!nothing but spaces': '     \r\n\r\n',
  '?broken chunk size': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n',
  '?broken trailer':
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nbad trailer\0\r\n\r\n',
  '?bad gzip': 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 8\r\n\r\nnot gzip',
  '?content-length too long': 'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}',
  '?content-length too short': 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{"more":1}',
  'chunked with extensions':
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b;c="d"\r\n{}\r\n0\r\n\r\n',
  'chunked with trailers':
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x\r\n\r\n2\r\n{}\r\n0\r\nx: y\r\n\r\n',
  'upper-case hex': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nA\r\n${'x'.repeat(10)}\r\n0\r\n\r\n`,
  'odd case of names': 'HTTP/1.1 200 OK\r\nCoNtEnT-LeNgTh: 2\r\nX-FOO: bar\r\n\r\n{}',
  'no reason phrase': 'HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.0, closed at the end': 'HTTP/1.0 200 OK\r\n\r\n{}',
}

row(
  'F26',
  'malformed responses (13), and F27: legal but odd ones (6)',
  'not HTTP: counted retry; broken after good 2xx headers: delivered; odd: delivered once; 0 crashes',
  async (row) => {
    const server = await serve({
      state: { raw: RAW },
      script: async (request, io) => {
        const name: string = JSON.parse(request.body.toString()).batch[0].context.case
        if (request.headers['x-retry-count'] !== undefined && name.startsWith('!')) return io.reply(200)
        io.count('raw')
        const raw = String((io.state['raw'] as Record<string, string>)[name])
        if (name === 'upper-case hex') {
          // The last chunk arrives in two packets.
          io.raw(raw.slice(0, -3))
          await io.sleep(20)
          io.raw(raw.slice(-3))
        } else io.raw(raw)
        if (!/^(chunked|upper|odd|no reason)/.test(name)) {
          await io.sleep(20)
          io.close()
        }
      },
    })

    const run = await runHost({ host: server.url, scale: 10, args: Object.keys(RAW) }, async (t) => {
      const table: Record<string, { code: string; requests: number }> = {}
      for (const name of t.args) {
        const client = t.create({ flushAt: 1, maxRetries: 2 })
        let requests = 0
        client.on('http_request', () => {
          requests++
        })
        client.track({ userId: 'u', event: 'Raw', context: { case: name } }, (error) => {
          table[name] = { code: error?.code ?? 'delivered', requests: 0 }
        })
        await client.flush()
        ;(table[name] as { requests: number }).requests = requests
        await t.close(client)
      }
      return table
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { otherCalls: true })
    row.injected(ledger.counts['raw'] ?? 0, Object.keys(RAW).length)
    const table = report.result as Record<string, { code: string; requests: number }>
    const wrong = Object.entries(table).filter(([name, { code, requests }]) => {
      if (code !== 'delivered') return true
      if (name.startsWith('?')) return requests > 2
      return name.startsWith('!') ? requests < 2 : requests !== 1
    })
    // A runtime may accept a header of 20 KB.
    expect(wrong.filter(([name]) => name !== '!header of 20 KB')).toEqual([])
  },
)

for (const status of [200, 503]) {
  row(
    'F28',
    `a response of ${status} with an endless body`,
    'S16: only a small part is read, RSS bounded, handled by its status',
    async (row) => {
      const limit = size(50_000_000, 1_000_000_000)
      const server = await serve({
        state: { status, limit, written: 0 },
        script: async (request, io) => {
          const status = Number(io.state['status'])
          if (status !== 200 && request.index > 0) return io.reply(200)
          io.count('endless')
          if (status === 200) io.acknowledge()
          io.raw(`HTTP/1.1 ${status} X\r\ncontent-length: ${Number(io.state['limit'])}\r\n\r\n`)
          const zeros = new Uint8Array(65_536)
          for (let sent = 0; sent < Number(io.state['limit']) && !io.socket.destroyed; sent += zeros.length) {
            if (!io.socket.write(zeros)) {
              await new Promise<void>((resolve) => {
                io.socket.once('drain', resolve)
                io.socket.once('close', resolve)
              })
            }
            io.state['written'] = Number(io.state['written']) + zeros.length
          }
        },
      })

      const run = await runHost({ host: server.url, scale: 4 }, async (t) => {
        const client = t.create()
        await t.trackAll(client, 0, 20)
        await t.close(client)
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger])
      row.injected(ledger.counts['endless'] ?? 0)
      expect(report.byOutcome).toEqual({ delivered: 20 })
      // `written` also counts the bytes that are still in the socket buffers of both sides.
      expect(Number(ledger.state['written'])).toBeLessThan(20_000_000)
      expect(report.rssMaxBytes - report.rssStartBytes).toBeLessThan(100 * 1_048_576)
    },
  )
}
