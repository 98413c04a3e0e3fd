import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../src/config/load.ts'
import { Deliverer } from '../src/destinations/deliverer.ts'
import type { ClaimedDelivery, DeliveryUpdate } from '../src/store/ports.ts'
import { runInTurns } from '../src/store/sqlite/steps.ts'
import { fakeClock, openCollector } from './support.ts'

test('the stream sends a message at least every two seconds, even if nothing has changed', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock })
  const response = await fetch(`${collector.url}/api/stream`)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const messages = () => text.split('data: ').length - 1
  const readUntil = async (count: number) => {
    while (messages() < count) text += (await reader?.read())?.value ?? ''
  }
  await readUntil(1)

  for (let elapsedMs = 0; elapsedMs < 2000; elapsedMs += 250) clock.advance(250)
  await readUntil(2)

  expect(messages()).toBe(2)
  await reader?.cancel()
})

test('the stream and the statistics contain the id of the process, which changes after a restart', async () => {
  const database = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'events.db')
  const told = async () => {
    const collector = await openCollector({ database })
    const leave = new AbortController()
    const { body } = await fetch(`${collector.url}/api/stream`, { signal: leave.signal })
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!/^data: .*\n\n/m.test(text)) text += (await reader?.read())?.value ?? ''
    const { process, epoch } = JSON.parse(/^data: (.*)/m.exec(text)?.[1] ?? '')
    expect(await (await fetch(`${collector.url}/api/stats`)).json()).toMatchObject({ process, epoch })
    leave.abort()
    await collector.close()
    return { process, epoch }
  }

  const [before, after] = [await told(), await told()]

  expect(before.process).toEqual(expect.any(String))
  expect(after.process).not.toBe(before.process)
  expect(after.epoch).toBe(before.epoch)
})

test('a webhook gets at most as many requests at a time as its concurrency allows', async () => {
  const clock = { ...fakeClock(), random: () => 0 }
  const { destinations } = parseConfig(
    {
      destinations: [
        { name: 'Hook', type: 'webhook', url: 'http://127.0.0.1:1/', concurrency: 4, firstDelay: 1000 },
      ],
    },
    'config',
  )
  const [destination] = destinations
  if (destination === undefined) throw new Error('expected a destination in the config')
  const pending = Array.from({ length: 10 }, (_, index): ClaimedDelivery => {
    const eventId = String(index)
    return { eventId, attempts: 2, source: 'shop', messageId: null, body: '{}', key: `a-${eventId}` }
  })
  const claims: number[] = []
  const updates: DeliveryUpdate[] = []
  const deliverer = new Deliverer(destination, {
    queue: {
      claim: async (_name, limit) => {
        claims.push(limit)
        return pending.splice(0, limit)
      },
      settle: async (_name, settled) => void updates.push(...settled),
      release: async () => {},
      nextDueMs: async () => undefined,
    },
    clock,
    onFault: () => {},
    onRecovery: () => {},
  })
  onTestFinished(() => deliverer.close())

  deliverer.wake()
  await expect.poll(() => updates.length).toBe(10)

  expect(Math.max(...claims)).toBe(4)
  // Nothing listens at this address, so the third attempt of each delivery fails. The wait after it is 2 to 4 s, at random;
  // with this clock, it is 2 s.
  expect(updates.every(({ attempts, dueAtMs }) => attempts === 3 && dueAtMs - clock.now() === 2000)).toBe(
    true,
  )
})

test('a long query does not block other requests', async () => {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const spin = (ms: number) => {
    const endMs = performance.now() + ms
    while (performance.now() < endMs);
  }
  function* work(): Generator<undefined, string, readonly unknown[]> {
    for (let slice = 0; slice < 10; slice++) {
      spin(10)
      yield
    }
    return 'found'
  }

  expect(await runInTurns(work(), () => [])).toBe('found')
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(9)
})

test('a HEAD request for the stream gets the headers and ends', async () => {
  const collector = await openCollector()

  const response = await fetch(`${collector.url}/api/stream`, { method: 'HEAD' })

  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  expect(await response.text()).toBe('')
})
