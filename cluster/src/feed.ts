import { setTimeout as wait } from 'node:timers/promises'
import { AckPolicy, type ConsumerMessages, DeliverPolicy } from '@nats-io/jetstream'
import type { Feed, FeedParts, NewEvent } from 'trackpost-collector'
import { StreamConnection } from './stream/connection.ts'
import { decode } from './stream/message.ts'
import { STREAM } from './stream/streams.ts'

const AGAIN_MS = 500
const EVENTS_AT_ONCE = 200
/** The server forgets the consumer when its collector has been gone for this long, and keeps no more events for it. */
const GONE_NANOS = 10_000_000_000
/** For a stream that is made now: an existing one is left as it is. */
const SETTINGS = { replicas: 1, maxBytes: 4 * 1024 ** 3 }

/**
 * Shows a debugger what comes into the stream from now on, accepted or not. It acknowledges nothing that destinations need.
 *
 * @throws ConfigError when the address cannot be used.
 */
export async function openFeed(address: string, parts: FeedParts): Promise<Feed> {
  const { onFault, append } = parts
  const stream = new StreamConnection({ address, settings: SETTINGS, onFault })
  let messages: ConsumerMessages | undefined
  const waiting: NewEvent[] = []
  let appending: Promise<void> | undefined
  let isClosed = false

  const read = async () => {
    const { client, manager } = stream
    const { name } = await manager.consumers.add(STREAM, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.New,
      inactive_threshold: GONE_NANOS,
      mem_storage: true,
    })
    const consumer = await client.consumers.get(STREAM, name)
    messages = await consumer.consume({ max_messages: EVENTS_AT_ONCE, abort_on_missing_resource: true })
    for await (const { data } of messages) {
      try {
        waiting.push(decode(data))
      } catch (cause) {
        onFault('an event of the stream cannot be read', cause)
      }
      if (waiting.length >= EVENTS_AT_ONCE) await appending
      if (waiting.length > 0) appending ??= appendAll()
    }
  }

  /** While some events are stored, the next ones gather, and then share a transaction. */
  const appendAll = async () => {
    for (let events = waiting.splice(0); events.length > 0 && !isClosed; events = waiting.splice(0)) {
      for (let isStored = false; !isStored && !isClosed; ) {
        try {
          await append(events)
          isStored = true
        } catch (cause) {
          onFault('events of the stream cannot be shown', cause)
          await wait(AGAIN_MS)
        }
      }
    }
    appending = undefined
  }

  const run = async () => {
    while (!isClosed) {
      if (stream.reason === null)
        await read().catch((cause: unknown) => isClosed || onFault('the stream cannot be read', cause))
      if (!isClosed) await wait(AGAIN_MS)
    }
  }
  const running = run()
  return {
    address: stream.address,
    async close() {
      isClosed = true
      await messages?.close()
      await stream.close()
      await running
      await appending
    },
  }
}
