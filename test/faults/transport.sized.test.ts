/** Connections that break, stall, have wrong certificates, or are slow. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { expectOracleRules, ROOT, runHost, serve, size } from './harness/lab.ts'
import { row } from './harness/row.ts'

const certificate = (name: string): string => join(ROOT, `test/support/tls/${name}.pem`)
const KEY = certificate('localhost-key')

row(
  'F04',
  'RST after 100 KB of a body of 480 KB',
  'retried, 0 lost, no error reaches the host',
  async (row) => {
    const server = await serve({
      state: { resets: 0 },
      onHead: (request, io) => {
        const state = io.state as { resets: number }
        if (state.resets === 3 || Number(request.headers['content-length']) < 200_000) return true
        state.resets++
        let bytes = 0
        io.socket.on('data', (chunk) => {
          bytes += chunk.length
          if (bytes < 100_000 || io.socket.destroyed) return
          io.count('reset in mid body')
          io.reset()
        })
        return false
      },
    })

    const run = await runHost({ host: server.url, scale: 10, settings: { flushAt: 1_000 } }, async (t) => {
      const client = t.create()
      for (let n = 0; n < 60; n++) t.track(client, n, 8_000)
      await t.close(client, { timeout: 0 })
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(ledger.counts['reset in mid body'] ?? 0, 3)
    expect(report.byOutcome).toEqual({ delivered: 60 })
  },
)

row(
  'F05',
  'RST after complete 2xx headers, the body cut',
  'counts as delivered, 0 sent again, 0 errors',
  async (row) => {
    const server = await serve({
      script: (_request, io) => {
        io.count('cut')
        io.acknowledge()
        io.raw('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{')
        setTimeout(() => io.reset(), 30)
      },
    })

    const run = await runHost({ host: server.url }, async (t) => {
      const client = t.create()
      await t.trackAll(client, 0, 200, undefined, 20)
      await t.close(client)
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(ledger.counts['cut'] ?? 0)
    expect(report.byOutcome).toEqual({ delivered: 200 })
    expect(ledger.duplicates).toBe(0)
  },
)

row(
  'F06',
  'S18: 2xx bodies that never end',
  'delivered; at most 4 sockets open at any time; all closed 2 s later',
  async (row) => {
    const batches = size(40, 200)
    const server = await serve({
      script: (_request, io) => {
        io.count('endless')
        io.acknowledge()
        io.raw('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{')
      },
    })

    const run = await runHost(
      { host: server.url, scale: 5, args: { batches }, settings: { flushAt: 10 } },
      async (t) => {
        const client = t.create()
        for (let batch = 0; batch < t.args.batches; batch++) {
          await t.trackAll(client, batch * 10, batch * 10 + 10)
          await t.until(() => client.stats.pending === 0, 5_000)
        }
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(ledger.counts['endless'] ?? 0, batches)
    expect(report.byOutcome).toEqual({ delivered: batches * 10 })
    expect(ledger.maxActive).toBeLessThanOrEqual(4)
    // 4 for concurrent requests, and those that undici opens by itself after an abort.
    expect(ledger.maxOpenConnections).toBeLessThanOrEqual(8)
    expect(ledger.openConnections).toBe(0)
  },
)

for (const where of ['headers', 'an error body', 'a 2xx body']) {
  row(
    'F08',
    `and F07: slow-loris response: ${where}, 1 byte every 100 ms`,
    'S17: one deadline for headers and body; the status, if there is one, then decides',
    async (row) => {
      const server = await serve({
        state: { where, ends: [] },
        script: async (request, io) => {
          if (request.index > 0 && io.state['where'] !== 'a 2xx body') return io.reply(200)
          io.count('dripped')
          const startMs = Date.now()
          io.socket.on('close', () => (io.state['ends'] as number[]).push(Date.now() - startMs))
          if (io.state['where'] === 'an error body') {
            io.raw('HTTP/1.1 500 Oh\r\ncontent-length: 100000\r\n\r\n')
          } else if (io.state['where'] === 'a 2xx body') {
            io.acknowledge()
            io.raw('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
          } else io.raw('HTTP/1.1 200 OK\r\n')
          while (!io.socket.destroyed) {
            io.raw('x')
            await io.sleep(100)
          }
        },
      })

      const run = await runHost({ host: server.url, settings: { httpRequestTimeout: 2_000 } }, async (t) => {
        const client = t.create()
        const statuses: number[] = []
        client.on('http_response', ({ status }) => statuses.push(status))
        await t.trackAll(client, 0, 10)
        await t.close(client)
        return statuses
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger])
      row.injected(ledger.counts['dripped'] ?? 0)
      expect(report.byOutcome).toEqual({ delivered: 10 })
      // Bytes that arrive slowly do not restart the deadline: otherwise the first connection would not end.
      expect(ledger.state['ends']).toHaveLength(1)
      const [first] = report.result as number[]
      expect(first).toBe(where === 'an error body' ? 500 : 200)
      if (where === 'a 2xx body') expect(ledger.requests).toHaveLength(1)
      else expect(ledger.requests.length).toBeGreaterThan(1)
    },
  )
}

row(
  'F11',
  'DNS: ENOTFOUND, EAI_AGAIN, a lookup that hangs',
  'retried; the hang ends at the deadline; 0 lost',
  async (row) => {
    const [old, fresh] = [await serve(), await serve()]

    const run = await runHost(
      {
        host: `http://tracking.invalid:${old.port}`,
        args: { freshPort: fresh.port },
        settings: { maxRetries: 10 },
        scale: 20,
      },
      async (t) => {
        const dns = process.getBuiltinModule('node:dns')
        const steps = ['ENOTFOUND', 'EAI_AGAIN', 'hang', '127.0.0.1', '127.0.0.2']
        let step = 0
        // biome-ignore lint/suspicious/noExplicitAny: the overloads of dns.lookup
        ;(dns as any).lookup = (_name: string, options: any, callback: any): void => {
          const answer = steps[Math.min(step++, steps.length - 1)] as string
          if (answer === 'hang') return
          if (answer.startsWith('E')) {
            process.nextTick(callback, Object.assign(new Error(`getaddrinfo ${answer}`), { code: answer }))
          } else if (options.all === true)
            process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }])
          else process.nextTick(callback, null, '127.0.0.1', 4)
        }
        const client = t.create()
        await t.trackAll(client, 0, 100)
        await t.close(client, { timeout: 0 })
        return step
      },
    )

    const report = expectOracleRules(run, [await old.report(), await fresh.report()])
    row.injected(Number(report.result) - 1, 3)
    expect(report.byOutcome).toEqual({ delivered: 100 })
  },
)

for (const fault of ['self-signed', 'expired', 'wrong host', 'plain HTTP', 'handshake hang']) {
  row(
    'F12',
    `TLS: ${fault}`,
    'counted retries, then retries_exhausted with the TLS error in its message; nothing sent unencrypted',
    async (row) => {
      const cert = certificate(fault === 'expired' ? 'expired' : 'localhost')
      const server = await serve(
        fault === 'plain HTTP'
          ? {
              onConnection: (io) => {
                io.socket.on('data', (chunk) => {
                  if (String(chunk).includes('POST')) io.count('in clear')
                  io.raw('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')
                  io.close()
                })
                return false
              },
            }
          : fault === 'handshake hang'
            ? {
                onConnection: (io) => {
                  io.count('hang')
                  io.socket.on('data', (chunk) => {
                    if (String(chunk).includes('POST')) io.count('in clear')
                  })
                  return false
                },
              }
            : { tls: { key: KEY, cert } },
      )

      const run = await runHost(
        {
          host: `https://${fault === 'wrong host' ? 'elsewhere.invalid' : 'localhost'}:${server.port}`,
          scale: 20,
          settings: { maxRetries: 2 },
          env: fault === 'self-signed' ? {} : { NODE_EXTRA_CA_CERTS: cert },
        },
        async (t) => {
          const lookup = (_: string, options: { all?: boolean }, callback: (...a: unknown[]) => void) => {
            if (options.all) process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }])
            else process.nextTick(callback, null, '127.0.0.1', 4)
          }
          Object.assign(process.getBuiltinModule('node:dns'), { lookup })
          const client = t.create()
          let requests = 0
          client.on('http_request', () => {
            requests++
          })
          await t.trackAll(client, 0, 20)
          await client.flush()
          await t.close(client)
          return requests
        },
      )

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { failures: ['retries_exhausted'] })
      row.injected(Number(report.result), 3)
      expect(report.byOutcome).toEqual({ retries_exhausted: 20 })
      expect(ledger.messages).toBe(0)
      expect(ledger.requests).toEqual([])
      expect(ledger.counts['in clear']).toBeUndefined()
      const expected: Record<string, RegExp> = {
        'self-signed': /SELF_SIGNED/,
        expired: /CERT_HAS_EXPIRED/,
        'wrong host': /ERR_TLS_CERT_ALTNAME_INVALID/,
        'plain HTTP': /ERR_SSL|EPROTO|SSL/,
        'handshake hang': /no response within|timeout/i,
      }
      expect(report.messages.join()).toMatch(expected[fault] as RegExp)
    },
  )
}

row(
  'F13',
  'keep-alive race: the server drops idle connections when the next request arrives',
  'each dropped request is retried once, at once, without using up one of maxRetries; 0 lost',
  async (row) => {
    const requests = size(300, 5_000)
    const server = await serve({
      script: (request, io) => {
        if (!request.isReused || io.random() > 0.3) return io.reply(200)
        io.count('dropped')
        io.reset()
      },
    })

    const run = await runHost(
      { host: server.url, args: { requests }, settings: { maxRetries: 0, flushAt: 1 }, limitMs: 250_000 },
      async (t) => {
        const client = t.create()
        for (let n = 0; n < t.args.requests; n++) {
          t.track(client, n)
          await t.until(() => client.stats.pending === 0, 5_000)
        }
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    const dropped = ledger.counts['dropped'] ?? 0
    row.injected(dropped, 50)
    expect(report.byOutcome).toEqual({ delivered: requests })
    expect(ledger.requests.length).toBe(requests + dropped)
    expect(ledger.requests.filter(({ headers }) => headers['x-retry-count'] === '1')).toHaveLength(dropped)
  },
  300_000,
)

row(
  'F16',
  'latency of 0.4 s ± 0.2 s, responses in slices of a few bytes; the server responds only while 4 requests are open',
  'no timeouts; 4 requests are in flight while there are events to send',
  async (row) => {
    const events = 1_600
    const server = await serve({
      state: { events, seen: 0, waiting: 0 },
      script: async (request, io) => {
        io.count('delayed')
        const state = io.state as Record<'events' | 'seen' | 'waiting', number>
        state.seen += request.events
        state.waiting++
        await io.sleep(200 + io.random() * 400)
        // With fewer than 4 requests in flight, this loop would not end.
        while (state.waiting < 4 && state.seen < state.events) await io.sleep(5)
        state.waiting--
        io.acknowledge()
        for (const slice of ['HTTP/1.', '1 200 O', 'K\r\ncon', 'tent-le', 'ngth: 2', '\r\n\r', '\n{', '}']) {
          // Pauses before each slice, not after it: the response ends with the last slice.
          await io.sleep(1)
          io.raw(slice)
        }
      },
    })

    const run = await runHost(
      {
        host: server.url,
        args: { events },
        settings: { flushAt: 1_000_000, httpRequestTimeout: 9_000 },
      },
      async (t) => {
        const client = t.create()
        for (let n = 0; n < t.args.events; n++) t.track(client, n, 8_000)
        await client.flush()
        await t.close(client)
      },
    )

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    row.injected(ledger.counts['delayed'] ?? 0, 20)
    expect(report.byOutcome).toEqual({ delivered: events })
    expect(ledger.duplicates).toBe(0)
    expect(ledger.maxActive).toBeLessThanOrEqual(4)
    // A request that had timed out would have been sent again.
    expect(ledger.requests.filter(({ headers }) => headers['x-retry-count'] !== undefined)).toEqual([])
  },
)

for (const status of [413, 401]) {
  row(
    'F17',
    `${status} before the body is complete, then close`,
    'the status counts, not the socket error',
    async (row) => {
      const server = await serve({
        state: { status },
        onHead: (request, io) => {
          if (Number(request.headers['content-length']) < 100_000) return true
          io.count('early')
          io.reply(Number(io.state['status']))
          io.close()
          return false
        },
      })

      const run = await runHost({ host: server.url, scale: 10, settings: { flushAt: 1_000 } }, async (t) => {
        const client = t.create()
        for (let n = 0; n < 60; n++) t.track(client, n, 8_000)
        await t.close(client, { timeout: 0 })
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { failures: status === 401 ? ['auth'] : [] })
      row.injected(ledger.counts['early'] ?? 0)
      expect(report.byOutcome).toEqual(status === 401 ? { auth: 60 } : { delivered: 60 })
    },
  )
}
