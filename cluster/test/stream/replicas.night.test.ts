import { onTestFinished } from 'vitest'
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
    await publish(stream, ...numbered(100))

    const { cluster } = await stream.manager.streams.info('trackpost')
    await servers.find(({ name }) => name === cluster?.leader)?.kill()
    // While the others choose a new leader, nothing is taken. Clients then send again.
    for (const event of numbered(100, 100))
      await until(() =>
        publish(stream, event).then(
          () => true,
          () => false,
        ),
      )

    down.memory.isDown = false
    for (const { memory } of [up, down]) {
      await until(() => new Set(memory.written).size === 200)
    }
  },
)
