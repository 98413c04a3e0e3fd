import { expect, onTestFinished } from 'vitest'
import { StreamConnection } from '../../src/stream/connection.ts'
import { natsTest, startNatsCluster } from '../support/nats.ts'
import { attached, numbered, publish, startWorker, until } from '../support/stream.ts'

natsTest(
  'with three replicas, no event is lost and all goes on when one of three servers is killed',
  async () => {
    const servers = await startNatsCluster(3)
    const address = `nats://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    const settings = { replicas: 3, maxBytes: 64 * 1024 ** 2 }
    const stream = new StreamConnection({ address, settings, onFault() {} })
    onTestFinished(() => stream.close())
    await until(() => stream.reason === null)
    const down = startWorker(stream, { name: 'Down' })
    down.memory.isDown = true
    const up = startWorker(stream, { name: 'Up' })
    await attached(stream, 'down')
    await attached(stream, 'up')
    const info = () => stream.manager.streams.info('trackpost')
    // The leader of a consumer may know it before the leader of the stream, which keeps nothing for a consumer that it does not know.
    await until(async () => (await info()).state.consumer_count === 2)
    await publish(stream, ...numbered(100))

    let leader: string | undefined
    await until(async () => {
      leader = (await info()).cluster?.leader
      return leader !== undefined
    })
    await servers[Number(leader?.slice(1)) - 1]?.kill()
    // While the others choose a new leader, nothing is taken. Clients then send again.
    for (const event of numbered(100, 100))
      await until(() =>
        publish(stream, event).then(
          () => true,
          () => false,
        ),
      )

    down.memory.isDown = false
    const { last_seq: last } = (await info()).state
    for (const [name, { memory }] of Object.entries({ up, down })) {
      // Not until all 200 are written: events that a server has forgotten are never written.
      await until(async () => {
        const consumer = await stream.manager.consumers.info('trackpost', name).catch(() => undefined)
        return consumer?.ack_floor.stream_seq === last
      })
      const written = new Set(memory.written)
      const lost = numbered(200).filter(({ messageId }) => !written.has(String(messageId)))
      expect([name, lost.map(({ messageId }) => messageId)]).toEqual([name, []])
    }
  },
)
