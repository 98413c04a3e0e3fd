import type { NewEvent } from 'trackpost-collector'
import { expect, onTestFinished } from 'vitest'
import { openFeed } from '../src/feed.ts'
import { encode } from '../src/stream/message.ts'
import { newEvent } from './support/events.ts'
import { natsTest, startNats } from './support/nats.ts'
import { attached, numbered, openStream, publish, startWorker, until } from './support/stream.ts'

natsTest(
  'a debugger sees what comes from now on, accepted or not, and takes nothing from the workers',
  async () => {
    const server = await startNats()
    const stream = await openStream(server.url)
    const { memory } = startWorker(stream)
    await attached(stream)
    await publish(stream, newEvent('before'))
    const seen: NewEvent[] = []
    let refusals = 3
    const feed = await openFeed(server.url.replace('//', '//user:secret@'), {
      async append(events) {
        if (refusals-- > 0) throw new Error('the disk is full')
        seen.push(...events)
      },
      onFault() {},
    })
    onTestFinished(() => feed.close())
    expect(feed.address).toBe(server.url)
    await until(async () => (await stream.manager.streams.info('trackpost')).state.consumer_count === 2)

    await publish(stream, ...numbered(3))
    const rejected = newEvent('bad', { reason: 'no_event' })
    await stream.publish('trackpost.rejected', encode(rejected))

    await until(() => seen.length >= 4)
    expect(seen.map(({ messageId }) => messageId)).toEqual(['id-0', 'id-1', 'id-2', 'bad'])
    expect(seen[3]).toEqual(rejected)
    await until(() => memory.written.length === 4)

    await server.kill()
    await server.start()
    await until(() => stream.reason === null)
    await until(async () => (await stream.manager.streams.info('trackpost')).state.consumer_count === 2)
    await publish(stream, newEvent('after'))
    await until(() => seen.at(-1)?.messageId === 'after')
    await feed.close()
    // The server forgets it soon, so it holds up nothing.
    await until(async () => (await stream.manager.streams.info('trackpost')).state.consumer_count === 1)
    await until(async () => (await stream.manager.streams.info('trackpost')).state.messages === 0)
  },
)
