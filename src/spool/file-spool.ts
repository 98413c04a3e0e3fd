import * as nodeFiles from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { describeCause } from '../errors/cause.ts'
import { SettingsError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import { detectRuntime } from '../runtime/detect.ts'
import type { Journal, JournalClient, Spool } from '../settings/journal.ts'
import { prepare } from './folder.ts'
import { FileJournal } from './journal.ts'
import { mayAskSystem } from './rights.ts'

const { permission } = process as { permission?: { has(scope: string, path: string): boolean } }

/**
 * Keeps events in files from the end of their turn until their outcome, so that they survive the process: the next process with
 * the same directory delivers them. It holds what memory holds, no more. For Node.js, Bun and Deno.
 *
 * @example
 * const spool = new FileSpool('/var/lib/shop/events')
 * const analytics = new Analytics({ writeKey, spool })
 */
export class FileSpool implements Spool {
  readonly #path: string

  /**
   * Creates the directory if it does not exist, accessible only to its owner, and checks that it can be used.
   *
   * @param directory Processes that send to the same source may share it. Clients with different write keys must not, because each
   * process sends the messages that other processes have left.
   * @throws SettingsError when the directory cannot be used.
   */
  constructor(directory: string) {
    if (typeof directory !== 'string' || directory === '') {
      throw new SettingsError('spool', `expected the path of a directory, got ${describe(directory)}`)
    }
    this.#path = resolve(directory)
    // Cloudflare Workers have `node:fs` with `nodejs_compat`, but its files are lost at the end of the request.
    if (detectRuntime().jsRuntime === 'cloudflare-worker') {
      throw new SettingsError('spool', 'Cloudflare Workers have no disk; use the setting waitUntil there')
    }
    try {
      prepare(nodeFiles, this.#path)
      const { W_OK, X_OK } = nodeFiles.constants
      // Deno asks for the user id, and the permission model of Node.js is not asked.
      if (mayAskSystem()) nodeFiles.accessSync(this.#path, W_OK | X_OK)
      if (permission?.has('fs.write', this.#path) === false) throw new Error('it needs --allow-fs-write')
    } catch (error) {
      throw new SettingsError('spool', `${this.#path} cannot be used: ${describeCause(error)}`)
    }
  }

  /** Called by the constructor of the client only. */
  open(client: JournalClient): Journal {
    return new FileJournal({ path: this.#path, client })
  }
}
