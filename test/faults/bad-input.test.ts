/** Bad input (docs/faults.md, section 2). Each case is tracked between two good events. */
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { expect } from 'vitest'
import { expectOracleRules, isFull, ROOT, runHost, scratchFile, serve } from './harness/lab.ts'
import type { Tools } from './harness/outcomes.ts'
import { row } from './harness/row.ts'

interface CaseResult {
  id: string
  name: string
  problems: string[]
}

/** The host process gets this function as text, so it must not use variables of this file. */
async function runCases(t: Tools<{ isFull: boolean; table: string }>): Promise<CaseResult[]> {
  // biome-ignore lint/suspicious/noExplicitAny: the cases are wrong on purpose
  type Anything = any
  // The messages that arrived, by the key of their case.
  const wire = new Map<string, Anything>()
  const client: Anything = t.create({
    maxRetries: 0,
    httpClient: (url: string, request: { body: string }) => {
      for (const message of JSON.parse(request.body).batch) {
        wire.set(message.userId, message)
        wire.set(message.event, message)
      }
      return fetch(url, request as RequestInit)
    },
  })
  let errors = 0
  client.on('error', () => {
    errors++
  })
  const require = process.getBuiltinModule('node:module').createRequire(t.args.table)
  const { badInput } = require(t.args.table) as typeof import('../message/bad-input.ts')
  const cases = badInput(t.args.isFull)
  const results: CaseResult[] = []
  // The cost of a call is counted in copies of the largest legal event, made in the same process. CPU time is
  // measured, since other processes may use the machine at any moment.
  const cpuMicros = (): number => {
    const { user, system } = process.cpuUsage()
    return user + system
  }
  const largest = { v: 'x'.repeat(32_000) }
  const copyLargest = (): unknown => JSON.parse(JSON.stringify(largest))
  for (let warmUp = 0; warmUp < 200; warmUp++) copyLargest()
  const beforeMicros = cpuMicros()
  for (let count = 0; count < 1_000; count++) copyLargest()
  const copyMicros = Math.max(1, (cpuMicros() - beforeMicros) / 1_000)
  // With `flushAt: 100`, the events of many cases share a request, so the cases are checked at the end.
  const isBatched = t.settings.flushAt === 100
  const judges: (() => void)[] = []
  let n = 0
  for (const [index, one] of cases.entries()) {
    const key = `bad:${one.id}:${index}`
    const problems: string[] = []
    results.push({ id: one.id, name: one.name, problems })
    let outcome = 'none'
    let told = 0
    const callback = (error: Anything): void => {
      told++
      outcome = error === undefined ? 'delivered' : error.code
    }
    t.track(client, n++)
    const errorsBefore = errors
    let startMicros = cpuMicros()
    try {
      const call: Anything = { userId: key, event: key }
      if (one.params === undefined) client.track(one.argument, callback)
      else {
        Object.defineProperties(call, Object.getOwnPropertyDescriptors(one.params()))
        startMicros = cpuMicros()
        client.track(call, callback)
      }
    } catch (error) {
      problems.push(`the call threw ${String(error)}`)
    }
    const copies = (cpuMicros() - startMicros) / copyMicros
    if (copies > one.maxCopies) problems.push(`the call took as long as ${copies.toFixed(0)} copies`)
    t.track(client, n++)
    const judge = (): void => {
      if (told !== 1) problems.push(`the callback ran ${told} times`)
      if (!one.outcomes.includes(outcome)) problems.push(`the outcome is ${outcome}`)
      const message = wire.get(key)
      if (one.check !== undefined) {
        const problem = message === undefined ? 'it did not arrive' : one.check(message)
        if (problem !== undefined) problems.push(String(problem))
      }
      const late = one.after?.()
      if (late !== undefined) problems.push(String(late))
    }
    if (isBatched) {
      judges.push(judge)
      await t.turn()
      continue
    }
    await client.flush()
    if (errors - errorsBefore > 1) problems.push(`${errors - errorsBefore} error events`)
    judge()
  }
  await client.flush()
  for (const judge of judges) judge()
  await t.close(client)
  return results
}

buildSync({
  entryPoints: [join(ROOT, 'test/message/bad-input.ts')],
  outfile: scratchFile('bad-input.cjs'),
  bundle: true,
  platform: 'node',
  format: 'cjs',
})

for (const flushAt of isFull ? [1, 3, 100] : [3]) {
  row(
    'B01 to B49',
    `the table of bad values and calls (test/message/bad-input.ts), batches of ${flushAt}`,
    'no call throws, each case ends as docs/faults.md requires, the good events before and after arrive unchanged, exit code 0',
    async (row) => {
      const server = await serve()

      const run = await runHost(
        {
          host: server.url,
          settings: { flushAt },
          args: { isFull, table: scratchFile('bad-input.cjs') },
          limitMs: 280_000,
          execArgv: isFull ? ['--max-old-space-size=4096'] : [],
        },
        runCases,
      )

      const report = expectOracleRules(run, [await server.report()], {
        otherCalls: true,
        failures: ['invalid', 'too_large', 'unserializable'],
      })
      const cases = report.result as CaseResult[]
      row.injected(cases.length, 130)
      expect(
        cases
          .filter(({ problems }) => problems.length > 0)
          .map(({ id, name, problems }) => `${id} ${name}: ${problems.join()}`),
      ).toEqual([])
      expect(report.byOutcome).toEqual({ delivered: cases.length * 2 })
      expect(report.stats?.accepted).toBe(cases.length * 3)
    },
    { timeoutMs: 300_000 },
  )
}

row(
  'B55',
  'calls in process.on(exit), in an uncaughtException handler, after close',
  'no error; the host ends as it would without the SDK',
  async (row) => {
    const server = await serve()

    const run = await runHost({ host: server.url }, async (t) => {
      const client = t.create()
      let thrown = 0
      const track = (): void => {
        try {
          client.track({ userId: 'u', event: 'Late' })
        } catch {
          thrown++
        }
      }
      await t.close(client)
      track()
      process.once('uncaughtException', () => {
        track()
        t.report.uncaught.length = 0
      })
      setTimeout(() => {
        throw new Error('the host fails')
      }, 10)
      process.once('exit', () => {
        track()
        // The test sees this as a wrong exit code.
        if (thrown > 0) process.exitCode = 99
      })
      await t.sleep(100)
    })

    const report = expectOracleRules(run, [await server.report()], {
      otherCalls: true,
      failures: ['closed'],
      unclosed: true,
    })
    row.injected(3)
    expect(report.stats?.failures).toMatchObject({ closed: 2 })
  },
)

for (const [name, execArgv] of [
  ['enumerable keys on Object.prototype', []],
  ['--disable-proto=throw', ['--disable-proto=throw']],
  ['--disable-proto=delete', ['--disable-proto=delete']],
  ['Object.freeze(Object.prototype)', []],
] as const) {
  row(
    'B38',
    `S21: the globals of the host: ${name}`,
    'no extra keys are sent, no setting is read from a prototype, nothing breaks',
    async (row) => {
      const server = await serve()

      const run = await runHost({ host: server.url, execArgv: [...execArgv], args: { name } }, async (t) => {
        const client = t.create()
        t.track(client, 0)
        await client.flush()
        // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
        const prototype = Object.prototype as any
        if (t.args.name.startsWith('enumerable')) {
          prototype.polluted = 'polluted'
          prototype.disable = true
          prototype.flushAt = 'bad'
        } else if (t.args.name.startsWith('Object.freeze')) Object.freeze(Object.prototype)
        const other = t.create()
        for (let n = 1; n < 20; n++) t.track(n % 2 === 0 ? client : other, n)
        client.track({
          userId: 'u',
          event: 'Odd',
          properties: { big: 1n, nasty: JSON.parse('{"__proto__":1}') },
        })
        other.track({
          userId: 'u',
          event: 'Odd',
          properties: { nasty: JSON.parse('{"__proto__":{"a":1}}'), big: 1n },
        })
        await client.flush()
        await other.flush()
        delete prototype.polluted
        delete prototype.disable
        delete prototype.flushAt
        await t.close(client)
        await t.close(other)
      })

      const ledger = await server.report()
      const report = expectOracleRules(run, [ledger], { otherCalls: true })
      row.injected(21)
      expect(report.byOutcome).toEqual({ delivered: 20 })
      expect(report.stats?.delivered).toBe(22)
      expect(
        await server.run((all) =>
          all.requests.some((one: { body: string }) => one.body.includes('polluted')),
        ),
      ).toBe(false)
    },
  )
}
