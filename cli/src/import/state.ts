import { createHmac, randomBytes } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { CommandError, fileProblem, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import type { Position } from './record.ts'
import type { RejectsMark } from './rejects.ts'
import type { Format } from './sniff.ts'
import type { Fingerprint } from './source.ts'

/** The content of the state file. */
export interface State extends Position {
  readonly version: 1
  readonly format: Format
  readonly isDone: boolean
  /** `null` for a pipe. */
  readonly fingerprint: Fingerprint | null
  /** The service to which the events were sent, with a salted hash of the write key. */
  readonly target: { readonly host: string; readonly salt: string; readonly keyDigest: string }
  /** `null` until a line is refused. */
  readonly rejects: RejectsMark | null
  /** In all runs of the import. */
  readonly delivered: number
  readonly refused: number
}

/** Returns `undefined` for stdin, which cannot be resumed. */
export function statePath(input: string): string | undefined {
  return input === '-' ? undefined : `${input}.trackpost-state.json`
}

/** Returns `undefined` when there is no state file. @throws UsageError when the file exists but cannot be used. */
export function readState(path: string): State | undefined {
  let text: string
  try {
    // The state file is replaced by a rename, which would destroy a device such as `/dev/null`.
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
    // The error is thrown below.
  }
  throw new UsageError(`state file ${printable(path)}: it cannot be read; use --restart to start over`)
}

/** Writes atomically: after a crash, the file has either the old or the complete new state. @throws CommandError */
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

export function createTarget(
  host: string,
  writeKey: string,
  salt = randomBytes(16).toString('hex'),
): State['target'] {
  return { host, salt, keyDigest: createHmac('sha256', salt).update(writeKey).digest('hex') }
}

export function isSameTarget(earlier: State['target'], host: string, writeKey: string): boolean {
  return earlier.host === host && earlier.keyDigest === createTarget(host, writeKey, earlier.salt).keyDigest
}
