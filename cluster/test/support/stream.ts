import { onTestFinished } from 'vitest'
import type { Destination, Outcome } from '../../src/destinations/destination.ts'
import { WRITTEN } from '../../src/destinations/destination.ts'
import { StreamConnection } from '../../src/stream/connection.ts'
import { encode, keyOf, type StreamEvent } from '../../src/stream/message.ts'
import { ACCEPTED } from '../../src/stream/streams.ts'
import { Worker } from '../../src/worker.ts'
import { newEvent } from './events.ts'

export const SETTINGS = { replicas: 1, maxBytes: 64 * 1024 ** 2 }

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

export async function openStream(address: string, faults: string[] = []): Promise<StreamConnection> {
  const onFault = (what: string, cause: unknown) => faults.push(`${what}: ${(cause as Error).message}`)
  const stream = new StreamConnection({ address, settings: SETTINGS, onFault })
  onTestFinished(() => stream.close())
  await until(() => stream.reason === null)
  return stream
}

export async function publish(
  stream: StreamConnection,
  ...events: ReturnType<typeof newEvent>[]
): Promise<void> {
  for (const event of events) await stream.publish(ACCEPTED, encode(event), { msgID: keyOf(event) })
}

export function numbered(count: number, from = 0): ReturnType<typeof newEvent>[] {
  return Array.from({ length: count }, (_, index) => newEvent(`id-${from + index}`))
}

/** A destination in memory. */
export class Memory implements Destination {
  batchSize = 100
  readonly written: string[] = []
  attempts = 0
  isDown = false
  outcomeOf: (event: StreamEvent) => Outcome = () => WRITTEN
  /** Awaited before each write. */
  gate: Promise<unknown> = Promise.resolve()

  async write(events: readonly StreamEvent[]): Promise<Outcome[]> {
    this.attempts++
    await this.gate
    if (this.isDown) throw new Error('it is down')
    return events.map((event) => {
      const outcome = this.outcomeOf(event)
      if (outcome.result === 'written') this.written.push(String(event.messageId))
      return outcome
    })
  }

  async close(): Promise<void> {}
}

export interface Running {
  worker: Worker
  memory: Memory
  faults: string[]
  ended: Promise<unknown>
}

export function startWorker(
  stream: StreamConnection,
  given: { name?: string; memory?: Memory; fromDeadLetters?: boolean; maxAttempts?: number } = {},
): Running {
  const { name = 'Memory', memory = new Memory(), ...others } = given
  const faults: string[] = []
  const onFault = (what: string, cause: unknown) => faults.push(`${what}: ${(cause as Error).message}`)
  const worker = new Worker({ stream, destination: memory, name, ...others, onFault })
  const ended = worker.run()
  onTestFinished(() => worker.close())
  return { worker, memory, faults, ended }
}

/** Resolves when the destination has a consumer, so that the stream keeps events for it. */
export async function attached(stream: StreamConnection, consumer = 'memory'): Promise<void> {
  await until(async () => {
    if (stream.reason !== null) return false
    const found = await stream.manager.consumers.info('trackpost', consumer).catch(() => undefined)
    return found !== undefined
  })
}
