import { MAX_MESSAGE_BYTES, requireSize } from '../message/serialize.ts'
import { allocate, byteLength, read, write } from '../message/utf8.ts'

/** Bytes of a slab: room for the largest message and its comma, or for a hundred of the usual size. */
const SLAB_BYTES = 65_536
/** Bytes of a client's first slab: many clients, of one request each, never need another. */
const FIRST_SLAB_BYTES = 4_096
/** Empty slabs that are kept for what comes next: about as many as one request takes out. */
const MAX_SPARE_SLABS = 8
/** UTF-8 takes at most this many bytes for a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3
const COMMA = 0x2c

/** A stretch of memory that messages share, each with a comma behind it. */
class Slab {
  readonly bytes: Uint8Array
  /** Where the next message goes. */
  used = 0
  /** Messages that have not been released. */
  live = 0

  constructor(size: number) {
    this.bytes = allocate(size)
  }

  get left(): number {
    return this.bytes.length - this.used
  }
}

/** Where a message lies; `slab` is set while it does. */
export interface Stored {
  slab: Slab | undefined
  start: number
  /** The comma behind it not counted. */
  bytes: number
}

/**
 * Holds serialised messages from the call to the outcome, as UTF-8 bytes: half the memory of text outside of ASCII, and
 * nothing that the garbage collector would have to walk, however many wait. Messages that come one after the
 * other lie one behind the other, as a request body has them.
 */
export class Store {
  #current = new Slab(FIRST_SLAB_BYTES)
  readonly #spare: Slab[] = []

  /**
   * Writes a message to its place.
   *
   * @throws DeliveryError `too_large` over {@link MAX_MESSAGE_BYTES}.
   */
  put(entry: Stored, json: string): void {
    // Exact counting is for the few that may not fit into what is left; what no slab can hold is among them.
    if (json.length * MAX_BYTES_PER_UNIT >= this.#current.left) {
      const bytes = byteLength(json)
      requireSize(bytes)
      if (bytes >= this.#current.left) this.#current = this.#spare.pop() ?? new Slab(SLAB_BYTES)
    }
    const slab = this.#current
    const start = slab.used
    const bytes = write(slab.bytes, json, start)
    requireSize(bytes)
    slab.bytes[start + bytes] = COMMA
    slab.used = start + bytes + 1
    slab.live++
    entry.slab = slab
    entry.start = start
    entry.bytes = bytes
  }

  /** Gives a message's place up. Does nothing when it has none. */
  release(entry: Stored): void {
    const { slab } = entry
    if (slab === undefined) return
    entry.slab = undefined
    slab.live--
    if (slab.live > 0) return
    slab.used = 0
    if (slab === this.#current || slab.bytes.length < SLAB_BYTES) return
    if (this.#spare.length < MAX_SPARE_SLABS) this.#spare.push(slab)
  }
}

/** The JSON of a stored message. */
export function textOf({ slab, start, bytes }: Stored): string {
  return slab === undefined ? '' : read(slab.bytes.subarray(start, start + bytes))
}

/** Bytes of the messages and the commas between them. */
export function totalBytes(entries: readonly Stored[]): number {
  let total = -1
  for (const { bytes } of entries) total += bytes + 1
  return total
}

/**
 * Copies messages and the commas between them. Those that lie one behind the other are copied at once.
 *
 * @param target Has room for {@link totalBytes} from `at` on.
 */
export function copyTo(target: Uint8Array, at: number, entries: readonly Stored[]): void {
  let end = at
  for (let index = 0; index < entries.length; ) {
    const { slab, start } = entries[index] as Stored
    let stop = start
    do stop += (entries[index++] as Stored).bytes + 1
    while (index < entries.length && entries[index]?.slab === slab && entries[index]?.start === stop)
    // The last comma has nothing behind it.
    const run = slab?.bytes.subarray(start, index === entries.length ? stop - 1 : stop)
    if (run === undefined) continue
    target.set(run, end)
    end += run.length
  }
}
