/** Exact limits: bytes of a message, bytes of a body, and events that the service refuses as too large. */
import { expect } from 'vitest'
import { expectOracleRules, runHost, serve, size } from './harness/lab.ts'
import { row } from './harness/row.ts'

row(
  'B56',
  'events of 32,767 / 32,768 / 32,769 bytes from ten kinds of content',
  'the first two are delivered with exactly that many bytes, the third is too_large',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, settings: { flushAt: 1 } }, async (t) => {
      type Fill = (count: number, rest: string) => Record<string, unknown>
      const text =
        (unit: string): Fill =>
        (count, rest) => ({ text: unit.repeat(count), rest })
      const kinds: Record<string, { fill: Fill; unitBytes: number }> = {
        ASCII: { fill: text('x'), unitBytes: 1 },
        é: { fill: text('é'), unitBytes: 2 },
        '€': { fill: text('€'), unitBytes: 3 },
        emoji: { fill: text('😀'), unitBytes: 4 },
        quote: { fill: text('"'), unitBytes: 2 },
        backslash: { fill: text('\\'), unitBytes: 2 },
        'U+0001': { fill: text('\u0001'), unitBytes: 6 },
        'lone surrogate': { fill: text('\ud800'), unitBytes: 3 },
        keys: { fill: (count, rest) => ({ [`k${'é'.repeat(count)}`]: 1, rest }), unitBytes: 2 },
        numbers: { fill: (count, rest) => ({ list: [0, ...Array(count).fill(1)], rest }), unitBytes: 2 },
      }
      let sent = ''
      const client = t.create({
        httpClient: (url: string, request: { body: string }) => {
          sent = request.body
          return fetch(url, request as RequestInit)
        },
      })
      let outcome: string | undefined
      let serial = 0
      const send = async (properties: Record<string, unknown>): Promise<number> => {
        sent = ''
        const messageId = `b56-${String(++serial).padStart(6, '0')}`
        const timestamp = '2026-01-02T03:04:05.678Z'
        client.track({ userId: 'u', event: 'Size', properties, messageId, timestamp }, (error) => {
          outcome = error?.code ?? 'delivered'
        })
        await client.flush()
        if (sent === '') return 0
        return Buffer.byteLength(sent.slice('{"batch":['.length, sent.lastIndexOf('],"writeKey"')))
      }
      const cases: { kind: string; bytes: number; wireBytes: number; outcome: string | undefined }[] = []
      for (const [kind, { fill, unitBytes }] of Object.entries(kinds)) {
        const emptyBytes = await send(fill(0, ''))
        for (const bytes of [32_767, 32_768, 32_769]) {
          const count = Math.floor((bytes - emptyBytes) / unitBytes)
          const rest = 'r'.repeat(bytes - emptyBytes - count * unitBytes)
          const wireBytes = await send(fill(count, rest))
          cases.push({ kind, bytes, wireBytes, outcome })
        }
      }
      await t.close(client)
      return cases
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { otherCalls: true, failures: ['too_large'] })
    const cases = report.result as { kind: string; bytes: number; wireBytes: number; outcome: string }[]
    row.injected(cases.length, 30)
    for (const { kind, bytes, wireBytes, outcome } of cases) {
      const expected =
        bytes <= 32_768 ? { wireBytes: bytes, outcome: 'delivered' } : { wireBytes: 0, outcome: 'too_large' }
      expect({ kind, bytes, wireBytes, outcome }).toEqual({ kind, bytes, ...expected })
    }
  },
)

row(
  'B58',
  'batches of 500,000 and 500,001 bytes; B59: an event of 32,768 bytes after 467,233',
  'the first is one request, each of the others two; nothing is lost',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url, settings: { flushAt: 1_000_000 } }, async (t) => {
      const bodies: number[] = []
      let sent = ''
      const client = t.create({
        httpClient: (url: string, request: { body: string }) => {
          sent = request.body
          bodies.push(Buffer.byteLength(sent))
          return fetch(url, request as RequestInit)
        },
      })
      let serial = 0
      const track = (fillBytes: number): void =>
        client.track({
          userId: 'u',
          event: 'Size',
          properties: { fill: 'x'.repeat(fillBytes) },
          messageId: `b58-${String(++serial).padStart(6, '0')}`,
          timestamp: '2026-01-02T03:04:05.678Z',
        })
      track(0)
      await client.flush()
      const envelopeBytes =
        Buffer.byteLength(sent) - Buffer.byteLength(sent.slice(10, sent.lastIndexOf('],"writeKey"')))
      const emptyBytes = Buffer.byteLength(sent) - envelopeBytes
      bodies.length = 0
      /** Tracks messages whose body has `bytes` bytes in total, the envelope included. */
      const fillBody = (bytes: number): void => {
        let left = bytes - envelopeBytes
        while (left > 0) {
          const messageBytes = left > 2 * 32_768 ? 32_000 : left > 32_768 ? Math.floor(left / 2) : left
          track(messageBytes - emptyBytes)
          left -= messageBytes + 1
        }
      }
      const results: number[][] = []
      for (const run of [
        () => fillBody(500_000),
        () => fillBody(500_001),
        () => {
          fillBody(467_233)
          track(32_768 - emptyBytes)
        },
        () => {
          fillBody(467_231)
          track(32_768 - emptyBytes)
        },
      ]) {
        run()
        await client.flush()
        results.push([...bodies])
        bodies.length = 0
      }
      await t.close(client)
      return results
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger], { otherCalls: true })
    const results = report.result as number[][]
    row.injected(results.length, 4)
    expect(results[0]).toEqual([500_000])
    expect(results[1]).toHaveLength(2)
    expect(results[2]?.[0]).toBe(467_233)
    expect(results[2]).toHaveLength(2)
    // 467,231 bytes, a comma and a message of 32,768 bytes fill the body exactly.
    expect(results[3]).toEqual([500_000])
    expect(report.stats?.failed).toBe(0)
  },
)

row(
  'F71',
  'and B60: random events, log-uniform 100 to 40,000 bytes',
  'no body over 500,000 bytes, none empty, and no room left for the next event; sent + too_large = all',
  async (row) => {
    const events = size(20_000, 1_000_000)

    const run = await runHost(
      { host: 'http://127.0.0.1:9', args: { events }, limitMs: 560_000 },
      async (t) => {
        const problems: string[] = []
        let bodies = 0
        let messages = 0
        let largestBytes = 0
        let before: { bytes: number; burst: number } | undefined
        let burst = 0
        let wrongSizes = 0
        const client = t.create({
          maxConcurrentRequests: 1,
          flushAt: 1_000_000,
          maxQueueBytes: 1_073_741_824,
          httpClient: async (_url: string, request: { body: string }) => {
            const bytes = Buffer.byteLength(request.body)
            bodies++
            largestBytes = Math.max(largestBytes, bytes)
            if (bytes > 500_000) problems.push(`a body of ${bytes} bytes`)
            const { batch } = JSON.parse(request.body) as {
              batch: { messageId: string; properties: { size: number } }[]
            }
            if (batch.length === 0) problems.push('an empty batch')
            messages += batch.length
            // Serializing the parsed messages again gives the bytes of the body.
            const parts = batch.map((message) => JSON.stringify(message))
            if (!request.body.startsWith(`{"batch":[${parts.join(',')}],"writeKey":`))
              problems.push('a split message')
            for (const part of parts) if (Buffer.byteLength(part) > 32_768) wrongSizes++
            const first = Buffer.byteLength(parts[0] ?? '')
            if (before?.burst === burst && before.bytes + 1 + first <= 500_000) {
              problems.push(`${before.bytes} bytes, and the next message of ${first} would have fitted`)
            }
            before = { bytes, burst }
            return new Response('{}')
          },
        })
        let seed = 12_345
        const random = (): number => {
          seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
          return seed / 4_294_967_296
        }
        const units = ['x', 'é', '€', '😀', '"', '\\', '\n', '\u0001', '\ud800', 'plain text ']
        let expectedTooLarge = 0
        let delivered = 0
        let tooLarge = 0
        for (let n = 0; n < t.args.events; n++) {
          const bytes = Math.exp(Math.log(100) + random() * Math.log(400))
          const unit = units[Math.floor(random() * units.length)] as string
          const unitBytes = Buffer.byteLength(JSON.stringify(Buffer.from(unit).toString())) - 2
          const properties = { size: n, text: unit.repeat(Math.floor(bytes / unitBytes)) }
          client.track({ userId: 'u', event: 'Random', properties }, (error) => {
            if (error === undefined) delivered++
            else if (error.code === 'too_large') tooLarge++
          })
          if (bytes > 33_000) expectedTooLarge++
          if (n % 500 === 499) {
            await client.flush()
            burst++
          }
        }
        const { stats } = await t.close(client)
        return {
          problems,
          bodies,
          messages,
          largestBytes,
          delivered,
          tooLarge,
          expectedTooLarge,
          wrongSizes,
          stats,
        }
      },
    )

    const report = expectOracleRules(run, [], { otherCalls: true, failures: ['too_large'] })
    const result = report.result as Record<string, number> & { problems: string[] }
    row.injected(events)
    expect(result.problems.slice(0, 5)).toEqual([])
    expect(result['wrongSizes']).toBe(0)
    expect(result['messages']).toBe(result['delivered'])
    expect(Number(result['delivered']) + Number(result['tooLarge'])).toBe(events)
    expect(result['tooLarge']).toBeGreaterThanOrEqual(Number(result['expectedTooLarge']))
    row.note(
      `${result['bodies']} bodies, the largest ${result['largestBytes']} bytes, ${result['tooLarge']} too_large`,
    )
  },
  { timeoutMs: 600_000 },
)

row(
  'F34',
  '413 on more than 10 events',
  'all delivered; at most 8 refusals for 100 events; the size is kept for the next batch',
  async (row) => {
    const server = await serve({
      script: (request, io) => {
        if (request.events <= 10) return io.reply(200)
        io.count('refused')
        io.reply(413)
      },
    })

    const run = await runHost({ host: server.url, settings: { flushAt: 100 } }, async (t) => {
      const client = t.create()
      for (let n = 0; n < 100; n++) t.track(client, n)
      await client.flush()
      t.report.result = client.stats.delivered
      for (let n = 100; n < 200; n++) t.track(client, n)
      await client.flush()
      await t.close(client)
    })

    const ledger = await server.report()
    const report = expectOracleRules(run, [ledger])
    const refusals = ledger.requests.filter(({ status }) => status === 413)
    row.injected(refusals.length)
    expect(report.byOutcome).toEqual({ delivered: 200 })
    expect(refusals.length).toBeLessThanOrEqual(8)
    expect(refusals.every(({ first }) => first < 100)).toBe(true)
    row.note(`${refusals.length} refusals, then ${ledger.requests.length - refusals.length} requests`)
  },
)

row('F35', '413 on one event of 20 KB', 'fails with too_large, its neighbours are delivered', async (row) => {
  const server = await serve({
    script: (request, io) => {
      if (request.body.length <= 20_000) return io.reply(200)
      io.count('refused')
      io.reply(413)
    },
  })

  const run = await runHost({ host: server.url, settings: { flushAt: 10 } }, async (t) => {
    const client = t.create()
    for (let n = 0; n < 11; n++) t.track(client, n, n === 5 ? 21_000 : 500)
    await client.flush()
    await t.close(client)
  })

  const ledger = await server.report()
  const report = expectOracleRules(run, [ledger], { failures: ['too_large'] })
  row.injected(ledger.counts['refused'] ?? 0)
  expect(report.byOutcome).toEqual({ delivered: 10, too_large: 1 })
  expect(report.statuses).toEqual({ 413: 1 })
})
