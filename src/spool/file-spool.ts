import * as nodeFiles from 'node:fs'
import { resolve } from 'node:path'
import { describeCause } from '../errors/cause.ts'
import { SettingsError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import { detectRuntime } from '../runtime/detect.ts'
import type { Journal, JournalClient, Spool } from '../settings/journal.ts'
import { unknownOption } from '../settings/names.ts'
import { ownReader, readObject } from '../settings/read.ts'
import { prepare } from './folder.ts'
import { FileJournal } from './journal.ts'

/** Options of `FileSpool`. */
export interface FileSpoolOptions {
  /**
   * Directory of the files. If it does not exist, it is created and is accessible only to its owner. Processes that send to the
   * same source may share it. Clients with different write keys must not, because each process sends the messages that other
   * processes have left. Required.
   */
  directory: string
}

/**
 * Keeps events in files from the end of their turn until their outcome, so that they survive the process: the next process with
 * the same directory delivers them. It holds what memory holds, no more. For Node.js, Bun and Deno.
 *
 * @example
 * import { FileSpool } from 'trackpost/spool'
 *
 * const spool = new FileSpool('/var/lib/shop/events')
 * const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY, spool })
 */
export class FileSpool implements Spool {
  readonly #path: string

  /**
   * Creates the directory if it does not exist, and checks that it can be used.
   *
   * @param options The options, or the directory alone.
   * @throws SettingsError when an option is invalid, or the directory cannot be created or written to; the message says why.
   */
  constructor(options: string | FileSpoolOptions) {
    this.#path = resolve(readDirectory(typeof options === 'string' ? { directory: options } : options))
    // Cloudflare Workers have `node:fs` with `nodejs_compat`, but its files are lost at the end of the request.
    if (detectRuntime().jsRuntime === 'cloudflare-worker') {
      throw new SettingsError(
        'spool',
        'Cloudflare Workers have no disk; leave it out there, and use the setting waitUntil, or await flush()',
      )
    }
    try {
      prepare(nodeFiles, this.#path)
      nodeFiles.accessSync(this.#path, nodeFiles.constants.W_OK | nodeFiles.constants.X_OK)
    } catch (error) {
      throw new SettingsError('spool.directory', `${this.#path} cannot be used: ${describeCause(error)}`)
    }
  }

  /** Called by the constructor of the client only. */
  open(client: JournalClient): Journal {
    return new FileJournal({ path: this.#path, client })
  }
}

/** @throws SettingsError that names the option. */
function readDirectory(given: FileSpoolOptions): string {
  const read = ownReader(readObject('spool', given))
  const unknown = unknownOption(given, ['directory'])
  if (unknown !== undefined) throw new SettingsError(`spool.${unknown[0]}`, unknown[1])
  const directory = read('directory')
  if (typeof directory === 'string' && directory !== '' && !directory.includes('\0')) return directory
  const text = directory === '' ? 'an empty string' : 'one with a NUL character'
  const got = typeof directory === 'string' ? text : describe(directory)
  throw new SettingsError('spool.directory', `expected the path of a directory, got ${got}`)
}
