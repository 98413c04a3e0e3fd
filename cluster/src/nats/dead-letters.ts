import type { StoredMsg } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import type { DeadLetter, DeadLetters } from 'trackpost-collector/ports'
import { decode, underNewKey } from '../log/codec.ts'
import { isFull, type LogConnection, reasonOf, TIMEOUT_MS } from './connection.ts'
import type { Names } from './streams.ts'

const REASON = 'Trackpost-Reason'
const MAX_REASON_CHARACTERS = 500
const FULL = 'the dead letters are full: try some again, or discard them'
/** For a call of `retry` without ids. */
const MAX_RETRIES = 10_000

export class NatsDeadLetters implements DeadLetters {
  readonly #connection: LogConnection
  readonly #names: Names
  readonly #publish: (payload: Uint8Array) => Promise<void>

  /** @param publish Writes a message into the stream of events. */
  constructor(connection: LogConnection, names: Names, publish: (payload: Uint8Array) => Promise<void>) {
    this.#connection = connection
    this.#names = names
    this.#publish = publish
  }

  async add(key: string | undefined, payload: Uint8Array, reason: string): Promise<void> {
    const fields = headers()
    fields.set(REASON, oneLine(reason))
    const options = { headers: fields, timeout: TIMEOUT_MS, ...(key !== undefined && { msgID: key }) }
    try {
      await this.#connection.client.publish(this.#names.deadSubject, payload, options)
    } catch (cause) {
      throw new Error(isFull(cause) ? FULL : reasonOf(cause), { cause })
    }
  }

  async list(limit: number): Promise<DeadLetter[]> {
    const letters: DeadLetter[] = []
    for await (const message of this.#messages(limit)) letters.push(letterOf(message))
    return letters
  }

  async retry(ids?: readonly string[]): Promise<number> {
    let retried = 0
    for await (const message of ids === undefined ? this.#messages(MAX_RETRIES) : this.#byIds(ids)) {
      // If the process ends between the next two lines, the dead letter still exists and may be retried again. The message then
      // has the same key again, so the store writes it only once.
      await this.#publish(underNewKey(message.data, String(message.seq)))
      if (await this.#delete(message.seq)) retried++
    }
    return retried
  }

  async discard(ids: readonly string[]): Promise<number> {
    let discarded = 0
    for await (const { seq } of this.#byIds(ids)) {
      if (await this.#delete(seq)) discarded++
    }
    return discarded
  }

  /** Returns false when another process has deleted the dead letter first. */
  async #delete(seq: number): Promise<boolean> {
    try {
      return await this.#connection.manager.streams.deleteMessage(this.#names.dead, seq, false)
    } catch (cause) {
      // The server has no separate error code for a missing message, so this looks for the message.
      if ((await this.#messageOf(seq)) !== null) throw cause
      return false
    }
  }

  async *#messages(limit: number): AsyncGenerator<StoredMsg> {
    const { manager } = this.#connection
    const { state } = await manager.streams.info(this.#names.dead)
    let left = limit
    for (let seq = state.first_seq; left > 0 && seq <= state.last_seq; left--) {
      const query = { seq, next_by_subj: this.#names.deadSubject }
      const message = await manager.streams.getMessage(this.#names.dead, query)
      if (message === null) return
      yield message
      seq = message.seq + 1
    }
  }

  async *#byIds(ids: readonly string[]): AsyncGenerator<StoredMsg> {
    for (const id of new Set(ids)) {
      if (!/^[1-9]\d{0,15}$/.test(id)) continue
      const message = await this.#messageOf(Number(id))
      if (message !== null) yield message
    }
  }

  #messageOf(seq: number): Promise<StoredMsg | null> {
    return this.#connection.manager.streams.getMessage(this.#names.dead, { seq })
  }
}

function letterOf(message: StoredMsg): DeadLetter {
  const { seq, data, header, time } = message
  const about = {
    source: null as string | null,
    name: null as string | null,
    messageId: null as string | null,
  }
  try {
    const [event] = decode(data).events
    if (event !== undefined) {
      about.source = event.source
      about.name = event.name ?? event.kind
      about.messageId = event.messageId
    }
  } catch {
    // The message cannot be decoded: source, name and messageId stay null.
  }
  return {
    id: String(seq),
    at: time.toISOString(),
    reason: header.get(REASON) || 'unknown',
    ...about,
    bytes: data.length,
  }
}

/** For the value of a header, which must be one line of ASCII. */
function oneLine(text: string): string {
  return (
    text
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim()
      .slice(0, MAX_REASON_CHARACTERS) || 'unknown'
  )
}
