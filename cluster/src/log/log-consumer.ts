import {
  type EventGroup,
  type LogWorker,
  type LogWorkerParts,
  type NewEvent,
  RefusedError,
  sleep,
} from 'trackpost-collector/ports'
import { type DecodedMessage, decode, decodeRequests, encodeOne } from './codec.ts'
import type { LogMessage, LogSubscription, ReadableLog } from './ports.ts'

const MESSAGES_PER_COMMIT = 100
/** A commit with a single message may have more. */
const EVENTS_PER_COMMIT = 2000
/** The wait after the first failed write. The wait is doubled after each further failure. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5000
/**
 * Wait before the log redelivers a message that could neither be written nor stored as a dead letter. The wait is long, because
 * a person has to fix the cause.
 */
const NO_DEAD_LETTER_RETRY_MS = 15_000

export interface LogConsumerParts extends LogWorkerParts {
  log: ReadableLog
}

interface Held {
  message: LogMessage
  decoded: DecodedMessage
}

/**
 * Reads messages from the log and writes their events to the store. A message is acknowledged when the store has committed its
 * events. The log may deliver a message more than once, and the store recognises it by its key. An event that the store refuses
 * becomes a dead letter; the other events of the commit are written.
 */
export class LogConsumer implements LogWorker {
  readonly #parts: LogConsumerParts
  #subscription: LogSubscription | undefined
  #ended: Promise<void> = Promise.resolve()
  #isClosing = false
  #pauseMs = 0
  #endPause = () => {}

  constructor(parts: LogConsumerParts) {
    this.#parts = parts
  }

  start(): void {
    const { log, store } = this.#parts
    this.#subscription = log.subscribe()
    log.onRequests((payload) => {
      for (const request of decodeRequests(payload)) store.requests.append(request)
    })
    this.#ended = this.#run(this.#subscription)
  }

  /** Resolves when the current write has finished. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#endPause()
    await this.#subscription?.close()
    await this.#ended
  }

  async #run(subscription: LogSubscription): Promise<void> {
    for (;;) {
      const messages = await subscription.take(MESSAGES_PER_COMMIT)
      if (messages.length === 0) return
      const held = await this.#read(messages)
      while (held.length > 0) {
        await this.#consume(held.splice(0, fitting(held)))
        // Several commits may take longer than the time for acknowledgement.
        for (const { message } of held) message.working()
      }
    }
  }

  async #read(messages: readonly LogMessage[]): Promise<Held[]> {
    const held: Held[] = []
    for (const message of messages) {
      try {
        held.push({ message, decoded: decode(message.payload) })
      } catch (cause) {
        await this.#finish([message], () => this.#addDeadLetter(undefined, message.payload, cause))
      }
    }
    return held
  }

  async #consume(held: readonly Held[]): Promise<void> {
    const messages = held.map(({ message }) => message)
    // If a dead letter cannot be stored, each message is processed alone, so that all other messages can be acknowledged. The
    // store recognises messages that are already written.
    const oneByOne = async () => {
      for (const one of held) await this.#consume([one])
    }
    await this.#finish(messages, () => this.#write(held), oneByOne)
  }

  /** Resolves with false when an event was neither written nor stored as a dead letter. */
  async #write(held: readonly Held[]): Promise<boolean> {
    let isDone = true
    for (const { decoded } of held) {
      this.#parts.onRead?.(decoded.events)
      for (const { key, payload, reason } of decoded.broken)
        isDone = (await this.#addDeadLetter(key, payload, new Error(reason))) && isDone
    }
    return (await this.#keep(held.map(({ decoded: { key, events } }) => ({ key, events })))) && isDone
  }

  /**
   * Acknowledges the messages when `work` is done. Otherwise the log delivers the messages again later, to any worker.
   *
   * @param work Resolves with false when a dead letter could not be stored.
   * @param oneByOne Processes each message separately. Called if `work` has resolved with false for several messages.
   */
  async #finish(
    messages: readonly LogMessage[],
    work: () => Promise<boolean>,
    oneByOne?: () => Promise<void>,
  ): Promise<void> {
    try {
      const isDone = await work()
      this.#pauseMs = 0
      if (!isDone && oneByOne !== undefined && messages.length > 1) return await oneByOne()
      for (const message of messages) {
        if (isDone) message.done()
        else message.retryAfter(NO_DEAD_LETTER_RETRY_MS)
      }
    } catch (cause) {
      this.#parts.onFault('events of the log cannot be written', cause)
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2))
      for (const message of messages) message.retryAfter(this.#pauseMs)
      await this.#pause(this.#pauseMs)
    }
  }

  /**
   * Writes groups of events, all in one transaction if the store accepts them. Otherwise divides the groups, and then the
   * events of a group, until it finds the refused events, which become dead letters.
   *
   * @returns False when an event was neither written nor stored as a dead letter.
   */
  async #keep(groups: readonly EventGroup[]): Promise<boolean> {
    const { store } = this.#parts
    try {
      await store.log.appendOnce(groups)
      return true
    } catch (cause) {
      if (!(cause instanceof RefusedError)) throw cause
      const [only] = groups
      if (groups.length > 1) {
        const middle = Math.ceil(groups.length / 2)
        const isFirstDone = await this.#keep(groups.slice(0, middle))
        return (await this.#keep(groups.slice(middle))) && isFirstDone
      }
      if (only === undefined) return true
      if (only.events.length === 1) {
        return this.#addDeadLetter(only.key, encodeOne(only.key, only.events[0] as NewEvent), cause)
      }
      const single = only.events.map((event, index) => ({ key: `${only.key}/${index}`, events: [event] }))
      if (!(await this.#keep(single))) return false
      // The events were written under other keys. This stores the key of the message, so that a redelivery is recognised.
      await store.log.appendOnce([{ key: only.key, events: [] }])
      return true
    }
  }

  /** Resolves with false when the dead letter could not be stored; the message then stays in the log. */
  async #addDeadLetter(key: string | undefined, payload: Uint8Array, cause: unknown): Promise<boolean> {
    const { log, onFault } = this.#parts
    try {
      await log.deadLetters.add(key, payload, (cause as Error).message)
    } catch (failure) {
      onFault('an event can be neither written nor stored as a dead letter, and waits in the log', failure)
      return false
    }
    onFault('an event became a dead letter', cause)
    return true
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isClosing) return
    await sleep(this.#parts.clock, ms, (wake) => {
      this.#endPause = wake
    })
  }
}

/** How many of the first messages fit into one commit. */
function fitting(held: readonly Held[]): number {
  let events = 0
  const end = held.findIndex(({ decoded }, index) => {
    events += decoded.events.length
    return index > 0 && events > EVENTS_PER_COMMIT
  })
  return end === -1 ? held.length : end
}
