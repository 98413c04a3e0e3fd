import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Stats } from '../../../collector/src/live/stats.ts'
import type { FeedState } from '../../../collector/src/store/ports.ts'
import { post, track } from '../../../collector/test/support.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect, rowsOf } from './open.ts'

const launcher = fileURLToPath(new URL('../../../collector/bin/trackpost-collector.js', import.meta.url))

interface Running {
  url: string
  child: ChildProcess
}

async function startProcess(address: string, config: object): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'trackpost-collector-'))
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  const args = [launcher, '--port', '0', '--store', address, '--config', 'config.json']
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)))
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        said += chunk
        const found = /listens on (http:\S+?),/.exec(said)?.[1]
        if (found !== undefined) resolve(found)
      })
    }
  })
  return { url, child }
}

async function receiver() {
  const keys: string[] = []
  const server = createServer((request, response) => {
    keys.push(String(request.headers['idempotency-key']))
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { keys, url: `http://127.0.0.1:${(server.address() as { port: number }).port}/` }
}

const stats = async ({ url }: Running) =>
  (await (await fetch(`${url}/api/stats`)).json()) as Stats & FeedState

describeWithPostgres('real processes on one database', () => {
  for (const count of [2, 4]) {
    test(`each of ${count} processes shows the events of all; every event is stored once and delivered once`, async () => {
      const address = await newDatabase()
      const hook = await receiver()
      const config = { destinations: [{ name: 'Hook', type: 'webhook', url: hook.url, concurrency: 4 }] }
      const processes = await Promise.all(Array.from({ length: count }, () => startProcess(address, config)))
      const batches = 24
      const size = 20

      // Each batch goes to two processes at the same time, as from a client whose first attempt timed out.
      const responses = await Promise.all(
        Array.from({ length: batches }, (_, turn) => {
          const batch = Array.from({ length: size }, (_, index) => track({ messageId: `m${turn}-${index}` }))
          return [turn, turn + 1].map((at) =>
            post(processes[at % count] as Running, '/v1/batch', { batch }).then(({ status }) => status),
          )
        }).flat(),
      )

      expect(new Set(responses)).toEqual(new Set([200]))
      const accepted = batches * size
      for (const one of processes) {
        await expect
          .poll(() => stats(one))
          .toMatchObject({
            accepted,
            rejected: accepted,
            lastSeq: 2 * accepted,
            byReason: { duplicate: accepted },
          })
      }
      await expect.poll(() => hook.keys.length).toBeGreaterThanOrEqual(accepted)
      const client = await connect(address)
      await expect
        .poll(() => rowsOf(client, 'SELECT state, count(*) FROM delivery GROUP BY 1'))
        .toEqual([['delivered', String(accepted)]])
      expect(hook.keys).toHaveLength(accepted)
      expect(new Set(hook.keys).size).toBe(accepted)
    })
  }

  test('sequence numbers become visible in order, so that a reader that follows new events misses none', async () => {
    const address = await newDatabase()
    const [first, second, third] = (await Promise.all(
      Array.from({ length: 3 }, () => startProcess(address, {})),
    )) as [Running, Running, Running]
    const followed: number[] = []
    let isOver = false
    const follow = (async () => {
      for (let cursor = ''; ; ) {
        const isLast = isOver
        const response = await fetch(
          `${third.url}/api/events?order=oldest&limit=500${cursor && `&cursor=${cursor}`}`,
        )
        const page = (await response.json()) as {
          events: Array<{ seq: number }>
          head: string
          next: string | null
        }
        followed.push(...page.events.map(({ seq }) => seq))
        cursor = page.next ?? page.head
        if (isLast && page.events.length === 0) return
      }
    })()

    for (let round = 0; round < 20; round++) {
      await Promise.all(
        [first, second].map((one) =>
          post(one, '/v1/batch', { batch: Array.from({ length: 7 }, () => track()) }),
        ),
      )
    }
    isOver = true
    await follow

    expect(followed).toEqual(Array.from({ length: 280 }, (_, index) => index + 1))
  })

  test('when a process is killed, no event that got a response is lost, and another process makes its deliveries', async () => {
    const address = await newDatabase()
    const hook = await receiver()
    // The lease of a delivery ends ten seconds after its `timeout`. Then the other process can claim the delivery.
    const destination = { name: 'Hook', type: 'webhook', url: hook.url, concurrency: 2, timeout: 100 }
    const config = { destinations: [destination] }
    const [first, second] = (await Promise.all(
      Array.from({ length: 2 }, () => startProcess(address, config)),
    )) as [Running, Running]
    const answered: string[] = []
    const send = async (one: Running, sender: number) => {
      for (let turn = 0; turn < 40; turn++) {
        const messageId = `s${sender}-${turn}`
        const status = await post(one, '/v1/track', track({ messageId })).then(
          (response) => response.status,
          () => 0,
        )
        if (status === 200) answered.push(messageId)
      }
    }
    const sending = Promise.all([send(first, 1), send(first, 2), send(second, 3)])
    await expect.poll(() => answered.length).toBeGreaterThan(10)

    first.child.kill('SIGKILL')
    await sending

    const client = await connect(address)
    const there = new Set((await rowsOf(client, 'SELECT message_id FROM event')).flat())
    expect(answered.filter((id) => !there.has(id))).toEqual([])
    await expect
      .poll(() => rowsOf(client, "SELECT count(*) FROM delivery WHERE state <> 'delivered'"), {
        timeout: 60_000,
      })
      .toEqual([['0']])
    expect(new Set(hook.keys).size).toBe(there.size)
  }, 90_000)
})
