import { allocate, byteLength, type Memory, read } from '../message/utf8.ts'

/** A message in the store. The store adds private fields. */
export interface StoredMessage {
  /** Length in UTF-8 bytes. */
  readonly bytes: number
}

/** An object that has a message in the store. */
export interface Holder {
  /** The stored message; `undefined` before it is stored and after it is released. */
  stored: StoredMessage | undefined
}

/** Keeps serialised messages as UTF-8 bytes, from the call until the outcome. */
export interface MessageStore {
  /** Stores one message. */
  put(json: string): StoredMessage
  /** The JSON of a message; empty once the message is released. */
  read(message: StoredMessage): string
  /**
   * Copies messages to `target`, with commas between them.
   *
   * @param target Must have room for `totalBytes(holders)` bytes from `at` on.
   */
  copy(holders: readonly Holder[], target: Uint8Array, at: number): void
  /** Frees the memory of a message. A second call does nothing. */
  release(message: StoredMessage): void
}

/** Bytes of the messages, including the commas between them. */
export function totalBytes(holders: readonly Holder[]): number {
  let total = -1
  for (const { stored } of holders) total += (stored?.bytes ?? 0) + 1
  return Math.max(0, total)
}

/** Room for a hundred messages of the usual size, or for the largest message that the API accepts. */
const SLAB_BYTES = 65_536
/** Enough for a client that sends only a few events. */
const FIRST_SLAB_BYTES = 4_096
/** Empty slabs that are kept for later messages. One request empties about as many. */
const MAX_SPARE_SLABS = 8
/** UTF-8 bytes per UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3
const COMMA = 0x2c

/** A block of memory that contains several messages, each followed by a comma. */
class Slab {
  readonly bytes: Memory
  used = 0
  /** Messages that have not been released. */
  live = 0

  constructor(size: number) {
    this.bytes = allocate(size)
  }
}

interface Place extends StoredMessage {
  /** `undefined` once the message is released. */
  slab: Slab | undefined
  readonly start: number
  readonly bytes: number
}

/**
 * Keeps messages in memory outside the JavaScript heap, so that the garbage collector need not traverse them. JSON with a few
 * characters beyond Latin-1 takes about half the memory of a string. Consecutive messages are adjacent, so that they can be
 * copied together into a request body.
 */
export class SlabStore implements MessageStore {
  #current = new Slab(FIRST_SLAB_BYTES)
  readonly #spare: Slab[] = []

  put(json: string): StoredMessage {
    let slab = this.#current
    // The exact length is computed only for messages that may not fit into the rest of the slab.
    if (json.length * MAX_BYTES_PER_UNIT >= slab.bytes.length - slab.used) {
      const bytes = byteLength(json)
      if (bytes >= slab.bytes.length - slab.used) slab = this.#change(bytes + 1)
    }
    const start = slab.used
    const bytes = slab.bytes.write(json, start)
    slab.bytes[start + bytes] = COMMA
    slab.used = start + bytes + 1
    slab.live++
    const place: Place = { slab, start, bytes }
    return place
  }

  read(message: StoredMessage): string {
    const { slab, start, bytes } = message as Place
    return slab === undefined ? '' : read(slab.bytes.subarray(start, start + bytes))
  }

  /** The bytes of a stored message, without a copy. */
  view(message: StoredMessage): Uint8Array {
    const { slab, start, bytes } = message as Place
    return (slab as Slab).bytes.subarray(start, start + bytes)
  }

  copy(holders: readonly Holder[], target: Uint8Array, at: number): void {
    let end = at
    for (let index = 0; index < holders.length; ) {
      const { slab, start } = placeOf(holders, index) as Place
      let stop = start
      // Adjacent messages are copied together, with their commas.
      for (let next: Place | undefined; index < holders.length; stop += (next as Place).bytes + 1, index++) {
        next = placeOf(holders, index)
        if (next?.slab !== slab || next?.start !== stop) break
      }
      // The last message has no comma after it.
      const run = slab?.bytes.subarray(start, index === holders.length ? stop - 1 : stop)
      if (run === undefined) continue
      target.set(run, end)
      end += run.length
    }
  }

  release(message: StoredMessage): void {
    const place = message as Place
    const { slab } = place
    if (slab === undefined) return
    place.slab = undefined
    slab.live--
    if (slab.live > 0) return
    slab.used = 0
    if (slab === this.#current || slab.bytes.length !== SLAB_BYTES) return
    if (this.#spare.length < MAX_SPARE_SLABS) this.#spare.push(slab)
  }

  #change(bytes: number): Slab {
    this.#current = bytes > SLAB_BYTES ? new Slab(bytes) : (this.#spare.pop() ?? new Slab(SLAB_BYTES))
    return this.#current
  }
}

function placeOf(holders: readonly Holder[], index: number): Place | undefined {
  return holders[index]?.stored as Place | undefined
}
