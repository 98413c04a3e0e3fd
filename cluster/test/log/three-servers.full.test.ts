import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished } from 'vitest'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { addNatsServer, startNatsCluster, natsTest as test } from '../support/nats.ts'

const config = { log: { replicas: 3 as const, maxBytes: 50_000_000 } }
/** The number of events that get 200 before and after a server is killed. */
const BEFORE = 300
const AFTER = 300

test('when the leader of three servers with three replicas is killed under load, no event that got 200 is lost', async () => {
  const servers = await startNatsCluster(3)
  const log = `nats://${servers.map(({ port }) => `127.0.0.1:${port}`).join()}`
  const front = await openCollector({ log, config })
  const worker = await openCollector({ log, work: true, store: ':memory:', config })
  await expect.poll(async () => (await fetch(`${front.url}/readyz`)).status, { timeout: 60_000 }).toBe(200)
  const connection = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) })
  onTestFinished(() => connection.close())
  const manager = await jetstreamManager(connection)
  const { config: kept, cluster } = await manager.streams.info('trackpost')
  expect(kept.num_replicas).toBe(3)

  const answered: string[] = []
  let refused = 0
  let lastId = 0
  const send = async (until: number) => {
    while (answered.length < until) {
      lastId++
      const messageId = `three-${lastId}`
      const { status } = await post(front, '/v1/track', track({ messageId }))
      if (status === 200) answered.push(messageId)
      else {
        expect(status).toBe(503)
        refused++
        // The length of the pause does not matter: the test counts responses, not time.
        await sleep(20)
      }
    }
  }
  const sendFromFour = (until: number) => Promise.all(Array.from({ length: 4 }, () => send(until)))

  await sendFromFour(BEFORE)
  const loaded = sendFromFour(BEFORE + AFTER)
  await servers.find(({ name }) => name === cluster?.leader)?.kill()
  await loaded

  expect(answered.length).toBeGreaterThanOrEqual(BEFORE + AFTER)
  await expect
    .poll(() => worker.count({ status: 'accepted' }), { timeout: 60_000 })
    .toBeGreaterThanOrEqual(answered.length)
  const stored = new Set(worker.events({ limit: 10_000 }).map(({ messageId }) => messageId))
  expect(answered.filter((id) => !stored.has(id))).toEqual([])
  // Refused events may be in the store nevertheless: the log had them, and its acknowledgement was lost.
  expect(worker.count({ status: 'accepted' })).toBeLessThanOrEqual(answered.length + refused)
})

test('a collector that starts before all servers have joined waits for them', async () => {
  const servers = await startNatsCluster(2)
  const faults: string[] = []
  const onFault = (_what: string, cause: unknown) => faults.push(String(cause))
  const front = await openCollector({ log: `nats://127.0.0.1:${servers[0]?.port}`, config, onFault })

  await expect.poll(() => faults.join()).toContain('too few servers are available for 3 replicas')
  expect((await fetch(`${front.url}/readyz`)).status).toBe(503)
  await addNatsServer(servers)

  await expect.poll(async () => (await fetch(`${front.url}/readyz`)).status).toBe(200)
  expect((await post(front, '/v1/track', track())).status).toBe(200)
})
