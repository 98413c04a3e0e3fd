import { SettingsError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import { unknownOption } from '../settings/names.ts'
import { ownReader, readChoice, readInteger, readObject } from '../settings/read.ts'

/** Options of `FileSpool`. */
export interface FileSpoolOptions {
  /**
   * Directory of the files. If it does not exist, it is created and is accessible only to its owner. Processes that send to the
   * same source may share it. Clients with different write keys must not, because each process sends the messages that other
   * processes have left. Required.
   */
  directory: string
  /** Maximum bytes of all files of this process. Default: 104,857,600; 1,048,576 to 1,099,511,627,776 bytes. */
  maxBytes?: number | undefined
  /**
   * Which events a power cut or a crash of the machine may lose. A crash of only the process never loses events that were
   * written at the end of their turn.
   *
   * - `'never'`: the events that the operating system has not written yet, about the last 30 seconds
   * - `'interval'`: the events of the last 500 ms
   * - `'always'`: the events since the last completed sync; a sync starts at the end of each turn of the event loop
   *
   * Default: `'interval'`.
   */
  sync?: 'never' | 'interval' | 'always' | undefined
}

export interface ResolvedSpoolOptions {
  readonly directory: string
  readonly maxBytes: number
  readonly sync: 'never' | 'interval' | 'always'
}

const MAX_BYTES = {
  default: 104_857_600,
  min: 1_048_576,
  max: 1_099_511_627_776,
  unit: 'bytes',
} as const

const SYNC = { default: 'interval', choices: ['never', 'interval', 'always'] } as const

const NAMES = ['directory', 'maxBytes', 'sync'] as const satisfies readonly (keyof FileSpoolOptions)[]

/** @throws SettingsError that names the option. */
export function resolveSpoolOptions(given: FileSpoolOptions): ResolvedSpoolOptions {
  const read = ownReader(readObject('spool', given))
  const unknown = unknownOption(given, NAMES)
  if (unknown !== undefined) throw new SettingsError(`spool.${unknown[0]}`, unknown[1])
  const directory = read('directory')
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0')) {
    const text = directory === '' ? 'an empty string' : 'one with a NUL character'
    const got = typeof directory === 'string' ? text : describe(directory)
    throw new SettingsError('spool.directory', `expected the path of a directory, got ${got}`)
  }
  return {
    directory,
    maxBytes: readInteger('spool.maxBytes', read('maxBytes'), MAX_BYTES),
    sync: readChoice('spool.sync', read('sync'), SYNC),
  }
}
