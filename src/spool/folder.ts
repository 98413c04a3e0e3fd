import { randomBytes } from 'node:crypto'
import * as nodeFiles from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Clock } from '../runtime/clock.ts'
import { isAlive, type Owner, type Processes } from './owner.ts'
import { mayAskSystem } from './rights.ts'

/** The file operations of `node:fs`. Tests replace some of them. */
export type Files = typeof nodeFiles

const FILE = /^([0-9a-f]{16})\.\d{1,9}\.jsonl$/
const LOCK = /^([0-9a-f]{16})\.lock$/
const WRITABLE_BY_OTHERS = 0o022
const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDWR } = nodeFiles.constants

interface FolderOptions {
  readonly files: Files
  readonly path: string
  readonly processes: Processes
  readonly clock: Pick<Clock, 'now'>
}

/**
 * The folder of a spool, which several processes may share. Each journal in it has a random id, files `ID.N.jsonl`, and
 * `ID.lock`, which says whose the files are. If this process is gone, another one takes a file over by renaming it: only one can
 * succeed in that.
 */
export class Folder {
  readonly #options: FolderOptions
  readonly #id = randomBytes(8).toString('hex')
  readonly #lock: string
  #count = 0
  #hasLock = false

  constructor(options: FolderOptions) {
    this.#options = options
    this.#lock = join(options.path, `${this.#id}.lock`)
  }

  get path(): string {
    return this.#options.path
  }

  /** Makes a file, and before it the folder and the lock if they are missing. */
  create(): { readonly path: string; readonly file: number } {
    const { files } = this.#options
    prepare(files, this.path)
    this.#makeLock()
    const path = this.#nextPath()
    return { path, file: files.openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600) }
  }

  /** Shows by the time of the lock that this process lives, and makes the lock again if somebody has removed it. */
  beat(): void {
    const { files, clock } = this.#options
    if (!this.#hasLock) return
    try {
      this.#makeLock()
      const seconds = clock.now() / 1_000
      files.utimesSync(this.#lock, seconds, seconds)
    } catch {
      // Without the folder, there is nothing to take over.
    }
  }

  /** The names of files that nobody owns any more, the oldest first. */
  scan(): string[] {
    const { files } = this.#options
    let names: string[]
    try {
      names = files.readdirSync(this.path)
    } catch {
      return []
    }
    const lives = new Map<string, boolean>()
    const isDead = (id: string): boolean => {
      if (!lives.has(id)) lives.set(id, id === this.#id || this.#isAlive(id))
      return lives.get(id) === false
    }
    const owners = new Set<string>()
    const found: { name: string; modifiedMs: number }[] = []
    for (const name of names) {
      const [, id] = FILE.exec(name) ?? []
      if (id === undefined) continue
      owners.add(id)
      const info = isDead(id) ? this.#info(name) : undefined
      if (info?.isFile() === true) found.push({ name, modifiedMs: info.mtimeMs })
    }
    for (const name of names) {
      const [, id] = LOCK.exec(name) ?? []
      if (id !== undefined && !owners.has(id) && isDead(id)) this.#remove(join(this.path, name))
    }
    return found.sort((a, b) => a.modifiedMs - b.modifiedMs).map(({ name }) => name)
  }

  /** Returns the new path; `undefined` when another process was first. */
  take(name: string): string | undefined {
    try {
      this.#makeLock()
    } catch {
      // On a full disk, another process may take the file as well, and send its events twice.
    }
    const path = this.#nextPath()
    try {
      this.#options.files.renameSync(join(this.path, name), path)
      return path
    } catch {
      return undefined
    }
  }

  /** Gives up what is left: another process may take it over. */
  close(): void {
    this.#remove(this.#lock)
    // Removes the locks of those whose files were taken over.
    if (this.#count > 0) this.scan()
  }

  #nextPath(): string {
    return join(this.path, `${this.#id}.${++this.#count}.jsonl`)
  }

  #makeLock(): void {
    const { files, processes } = this.#options
    if (files.existsSync(this.#lock)) return
    this.#hasLock = true
    const file = files.openSync(this.#lock, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      files.writeSync(file, JSON.stringify(processes.self))
    } catch {
      // On a full disk it stays empty, and shows life by its time alone.
    } finally {
      files.closeSync(file)
    }
  }

  #isAlive(id: string): boolean {
    const { files, processes, clock } = this.#options
    const info = this.#info(`${id}.lock`)
    if (info?.isFile() !== true) return false
    let owner: Owner | undefined
    try {
      owner = JSON.parse(files.readFileSync(join(this.path, `${id}.lock`), 'utf8'))
    } catch {
      // Its time decides.
    }
    return isAlive(owner, clock.now() - info.mtimeMs, processes)
  }

  #info(name: string): nodeFiles.Stats | undefined {
    try {
      return this.#options.files.lstatSync(join(this.path, name))
    } catch {
      return undefined
    }
  }

  #remove(path: string): void {
    try {
      this.#options.files.unlinkSync(path)
    } catch {
      // It is gone already, or belongs to another user.
    }
  }
}

/**
 * Makes the folder if it is missing. Throws for one in which other users can create files, because these would be sent with the
 * credentials of this process. Folders above it are not checked.
 */
export function prepare(files: Files, path: string): void {
  if (!files.existsSync(path)) files.mkdirSync(path, { recursive: true, mode: 0o700 })
  const info = files.lstatSync(path)
  if (!info.isDirectory()) throw Object.assign(new Error('it is not a directory'), { code: 'ENOTDIR' })
  const remedy = 'give it to the user of this process alone (chmod 700), or use a new directory inside it'
  const user = mayAskSystem() ? process.getuid?.() : undefined
  if (user !== undefined && info.uid !== user) throw new Error(`it belongs to another user; ${remedy}`)
  // Windows has no real file modes.
  if (process.platform !== 'win32' && (info.mode & WRITABLE_BY_OTHERS) > 0) {
    throw new Error(`other users may write to it; ${remedy}`)
  }
}
