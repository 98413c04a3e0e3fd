import { allocate, byteLength, MAX_BYTES_PER_UNIT, type Memory, read } from './utf8.ts'

export interface StoredMessage {
  /** Length in UTF-8 bytes. */
  readonly bytes: number
}

export interface Holder {
  /** `undefined` before it is stored and after it is released. */
  stored: StoredMessage | undefined
}

/** Room for a hundred messages of the usual size, or for the largest message that the API accepts. */
const SLAB_BYTES = 65_536
/** Enough for a client that sends only a few events. */
const FIRST_SLAB_BYTES = 4_096
/** Empty slabs that are kept for later messages. One request empties about as many. */
const MAX_SPARE_SLABS = 8
/** Slabs that are less full than this are emptied when the store wastes too much. */
const SPARSE = 2 / 3
/** Waste below this is not worth a copy. */
const MIN_WASTE_BYTES = 262_144
const COMMA = 0x2c

/** Several messages, each followed by a comma. */
class Slab {
  readonly bytes: Memory
  used = 0
  /** The bytes of the messages that have not been released, and all messages that were put here. */
  live = 0
  places: Place[] = []

  constructor(size: number) {
    this.bytes = allocate(size)
  }
}

interface Place extends StoredMessage {
  /** `undefined` once the message is released. */
  slab: Slab | undefined
  start: number
  readonly bytes: number
}

/**
 * Keeps messages outside the JavaScript heap, so that the garbage collector need not traverse them, and next to each other, so that
 * they are copied together into a request body. Those that stay while their neighbours leave are moved together: the memory is at most
 * 1.5 times the bytes of the messages and 1 MB.
 *
 * @see docs/spec.md, section 5
 */
export class MessageStore {
  #current = new Slab(FIRST_SLAB_BYTES)
  readonly #slabs = new Set<Slab>([this.#current])
  readonly #spare: Slab[] = []
  /** Of the slabs in use, and of the messages in them with their commas. */
  #sizeBytes = FIRST_SLAB_BYTES
  #liveBytes = 0

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
    const place: Place = { slab, start, bytes }
    this.#hold(slab, place)
    return place
  }

  /** The JSON of a message; empty once the message is released. */
  read(message: StoredMessage): string {
    const { slab, start, bytes } = message as Place
    return slab === undefined ? '' : read(slab.bytes.subarray(start, start + bytes))
  }

  /** The bytes of a message, without a copy; valid until the next call of this store. */
  view(message: StoredMessage): Uint8Array {
    const { slab, start, bytes } = message as Place
    return (slab as Slab).bytes.subarray(start, start + bytes)
  }

  /** One or more messages with commas between them, after `head` and before `tail`, in new memory. */
  join(holders: readonly Holder[], head: string, tail: string): Uint8Array {
    // The last message has no comma after it.
    let bytes = byteLength(head) + byteLength(tail) - 1
    for (const { stored } of holders) bytes += (stored as Place).bytes + 1
    const joined = allocate(bytes)
    let end = joined.write(head, 0)
    for (let index = 0; index < holders.length; ) {
      const { slab, start } = (holders[index] as Holder).stored as Place
      let stop = start
      // Adjacent messages are copied together, with their commas.
      for (let next: Place | undefined; index < holders.length; stop += (next as Place).bytes + 1, index++) {
        next = holders[index]?.stored as Place | undefined
        if (next?.slab !== slab || next?.start !== stop) break
      }
      const run = (slab as Slab).bytes.subarray(start, index === holders.length ? stop - 1 : stop)
      joined.set(run, end)
      end += run.length
    }
    joined.write(tail, end)
    return joined
  }

  /** Frees the memory of a message. A second call does nothing. */
  release(message: StoredMessage): void {
    const place = message as Place
    const { slab } = place
    if (slab === undefined) return
    place.slab = undefined
    slab.live -= place.bytes + 1
    this.#liveBytes -= place.bytes + 1
    if (slab.live === 0) this.#empty(slab)
    else if (this.#sizeBytes * SPARSE - MIN_WASTE_BYTES > this.#liveBytes) this.#compact()
  }

  #hold(slab: Slab, place: Place): void {
    slab.used = place.start + place.bytes + 1
    slab.live += place.bytes + 1
    slab.places.push(place)
    this.#liveBytes += place.bytes + 1
  }

  #change(bytes: number): Slab {
    const slab = bytes > SLAB_BYTES ? new Slab(bytes) : (this.#spare.pop() ?? new Slab(SLAB_BYTES))
    if (this.#current.live === 0) this.#drop(this.#current)
    this.#slabs.add(slab)
    this.#sizeBytes += slab.bytes.length
    this.#current = slab
    return slab
  }

  #empty(slab: Slab): void {
    slab.used = 0
    slab.places.length = 0
    if (slab === this.#current) return
    this.#drop(slab)
    if (slab.bytes.length === SLAB_BYTES && this.#spare.length < MAX_SPARE_SLABS) this.#spare.push(slab)
  }

  #drop(slab: Slab): void {
    if (this.#slabs.delete(slab)) this.#sizeBytes -= slab.bytes.length
  }

  #compact(): void {
    for (const slab of [...this.#slabs]) {
      if (slab === this.#current || slab.live >= slab.bytes.length * SPARSE) continue
      for (const place of slab.places) {
        if (place.slab === slab) this.#move(place, slab)
      }
      slab.live = 0
      this.#empty(slab)
    }
  }

  #move(place: Place, from: Slab): void {
    const { start, bytes } = place
    let to = this.#current
    if (bytes >= to.bytes.length - to.used) to = this.#change(bytes + 1)
    // With its comma.
    to.bytes.set(from.bytes.subarray(start, start + bytes + 1), to.used)
    this.#liveBytes -= bytes + 1
    place.slab = to
    place.start = to.used
    this.#hold(to, place)
  }
}
