import { printable } from '../output/text.ts'

/** What an import changes, adds or leaves out, with the rest of a sentence that begins with a count and a field. */
export const NOTE_TEXTS = {
  not_sent: 'not sent; --rest sends what has no field of its own as properties or traits',
  no_field: 'not sent: this kind of event has no such field',
  transport: 'not sent: the client and the service write their own',
  library: 'replaced: the client names itself there',
  replaced: 'not sent: the event has another value there, from --map, --set or a field of that name',
  no_name: 'not sent: the column has no name; --columns gives it one',
  no_id: 'taken as no id, because it is a word such as NULL, None or \\N',
  null: 'left out (--null)',
  null_word: "sent as text; --null '\\N' leaves such a word out",
  space: 'sent with white space at its beginning or end',
  large: 'sent as text: a number beyond 2^53 would be rounded; --large-numbers refuse refuses the line',
  rounded: 'rounded: a number has about 17 digits',
  surrogate: 'sent with U+FFFD: half a surrogate pair is no text',
  no_zone: 'read as UTC: the time names no zone',
  time_digits: 'cut to milliseconds',
  no_timestamp: 'absent: the time of the import is sent instead',
  header: 'left out: the header again, as in joined files',
  export: 'sent: what is around the message in an export of the collector is not',
} as const
export type NoteKind = keyof typeof NOTE_TEXTS

export interface Note {
  readonly kind: NoteKind
  /** The field or column. */
  readonly field: string
  count: number
  /** Of the first. */
  readonly line: number
  readonly column: string | number | null
}

/** Takes a note about a field. @param column Where it comes from, if that is not the field itself. */
export type TakeNote = (kind: NoteKind, field: string, column?: string) => void

/** Keys may be data, as ids are in some files: further fields are counted together. */
const MAX_FIELDS = 100

/** Counts by kind and field. */
export class Notes {
  readonly #notes = new Map<string, Note>()

  get all(): readonly Note[] {
    return [...this.#notes.values()]
  }

  add(kind: NoteKind, name: string, line: number, column: string | number | null = name): void {
    const key = `${kind} ${name}`
    const known = this.#notes.get(key)
    if (known !== undefined) known.count++
    else if (this.#notes.size < MAX_FIELDS || name === OTHERS)
      this.#notes.set(key, { kind, field: name, count: 1, line, column })
    else this.add(kind, OTHERS, line, column)
  }
}

const OTHERS = 'other fields'

/** `userId: 1,204 times taken as no id, ...; first in line 17, column "user"` */
export function describeNote({ kind, field, count, line, column }: Note): string {
  const times = count === 1 ? 'once' : `${count.toLocaleString('en-US')} times`
  const place = column === null ? '' : `, column ${JSON.stringify(column)}`
  return printable(`${field}: ${times} ${NOTE_TEXTS[kind]}; first in line ${line}${place}`)
}
