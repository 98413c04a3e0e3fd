import { createHmac, randomBytes } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { CommandError, fileProblem, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import type { Position } from './record.ts'
import type { RejectsMark } from './rejects.ts'
import type { Format } from './sniff.ts'
import type { Fingerprint } from './source.ts'

/** How far an import has come. */
export interface State extends Position {
  readonly version: 1
  readonly format: Format
  /** Whether the end of the file was reached. */
  readonly isDone: boolean
  /** `null` for a pipe. */
  readonly fingerprint: Fingerprint | null
  /** Where the events went, with a hash of the key. */
  readonly target: { readonly host: string; readonly salt: string; readonly keyDigest: string }
  /** The file of refused lines; `null` as long as there are none. */
  readonly rejects: RejectsMark | null
  /** Delivered lines in all parts of the import. */
  readonly delivered: number
  readonly refused: number
}

/** The path of the state file of an input. */
export function statePath(input: string): string | undefined {
  return input === '-' ? undefined : `${input}.trackpost-state.json`
}

/**
 * The state of an earlier import; `undefined` when there is none.
 *
 * @throws UsageError when the file exists but cannot be used.
 */
export function readState(path: string): State | undefined {
  let text: string
  try {
    // The file is replaced by renaming, which must not happen to a device.
    if (!lstatSync(path).isFile()) throw new Error('it is not a regular file')
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new UsageError(`state file ${printable(path)}: ${fileProblem(error)}`)
  }
  try {
    const state = JSON.parse(text) as State
    const isKnown =
      state.version === 1 && Number.isSafeInteger(state.offset) && Number.isSafeInteger(state.line)
    if (isKnown && typeof state.target?.host === 'string' && typeof state.isDone === 'boolean') return state
  } catch {
    // Reported below.
  }
  throw new UsageError(`state file ${printable(path)}: it cannot be read; use --restart to start over`)
}

/** Writes the state atomically: afterwards, there is either the old or the complete new one. @throws CommandError */
export async function writeState(path: string, state: State): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(state)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw new CommandError(`the state file ${printable(path)} cannot be written: ${fileProblem(error)}`)
  }
}

/** Where events go, with a hash instead of the key. */
export function createTarget(
  host: string,
  writeKey: string,
  salt = randomBytes(16).toString('hex'),
): State['target'] {
  return { host, salt, keyDigest: createHmac('sha256', salt).update(writeKey).digest('hex') }
}

/** Whether an earlier part of the import went to the same place. */
export function isSameTarget(earlier: State['target'], host: string, writeKey: string): boolean {
  return earlier.host === host && earlier.keyDigest === createTarget(host, writeKey, earlier.salt).keyDigest
}
