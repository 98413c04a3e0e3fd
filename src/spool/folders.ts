import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { codeOf, type FileSystem, isFull, type PathInfo } from './file-system.ts'
import { isAlive, type Owner, type Processes, parseOwner } from './owner.ts'

/** The name of a folder: the id of its owner, and the number of the folder. */
const FOLDER = /^([0-9a-f]{16})\.(\d+)$/
const LOCK = /^([0-9a-f]{16})\.lock$/
const QUARANTINED = /^\d{13}-[0-9a-f]{8}\.bad$/
/** Number of damaged files that are kept for inspection. */
const MAX_QUARANTINED = 10

export interface FoldersOptions {
  readonly fs: FileSystem
  readonly directory: string
  readonly processes: Processes
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly warn: (text: string) => void
}

/**
 * The directory of a spool, which several processes may share. Each spool in it (an owner) has a random id and a lock file,
 * `ID.lock`, which it writes regularly as a heartbeat. It has a folder `ID.0` for its own segments, and `ID.1` and so on for
 * adopted segments. A process adopts a folder by renaming it, because only one process can succeed in that.
 */
export class Folders {
  readonly #options: FoldersOptions
  readonly #id = randomBytes(8).toString('hex')
  readonly #lock: string
  #lockFile: number | undefined
  #adopted = 0
  #hasToldOfOthers = false

  /** @throws when the directory cannot be created or written to; the message says why. */
  constructor(options: FoldersOptions) {
    this.#options = options
    this.#lock = join(options.directory, `${this.#id}.lock`)
    this.#makeDirectory(options.directory)
    try {
      this.beat()
    } catch (error) {
      this.close()
      // What earlier processes have left on a full disk is read without a lock. It frees the disk when it has been sent.
      if (!isFull(error)) throw error
    }
  }

  /** The folder may not exist yet. */
  get own(): string {
    return join(this.#options.directory, `${this.#id}.0`)
  }

  get directory(): string {
    return this.#options.directory
  }

  ensureOwn(): void {
    const { fs, directory } = this.#options
    if (fs.info(this.own) !== undefined) return
    this.#makeDirectory(directory)
    this.beat()
    fs.makeDirectory(this.own)
  }

  /** Writes the lock as a heartbeat, and creates it again if it was removed. */
  beat(): void {
    const { fs, processes } = this.#options
    if (this.#lockFile !== undefined && fs.info(this.#lock) === undefined) this.#closeLock()
    this.#lockFile ??= fs.create(this.#lock)
    try {
      fs.write(this.#lockFile, Buffer.from(JSON.stringify(processes.self)), 0)
    } catch (error) {
      if (!isFull(error)) throw error
      // An empty lock shows life by its time alone.
      fs.touch(this.#lockFile)
    }
  }

  /**
   * Adopts the folders of dead owners, and folders without an owner.
   *
   * @returns The new paths of the folders, the oldest first.
   */
  adopt(): string[] {
    const { fs, directory } = this.#options
    const names = fs.list(directory)
    const owners = new Map<string, boolean>()
    const dead: string[] = []
    for (const name of names) {
      const [, id] = FOLDER.exec(name) ?? []
      if (id === undefined || id === this.#id || this.#isAlive(id, owners)) continue
      const info = fs.info(join(directory, name))
      if (info?.kind === 'directory' && !this.isOthers(join(directory, name), info)) dead.push(name)
    }
    const age = (name: string): number => fs.info(join(directory, name))?.modifiedMs ?? 0
    const ages = new Map(dead.map((name) => [name, age(name)]))
    dead.sort((a, b) => (ages.get(a) ?? 0) - (ages.get(b) ?? 0))
    const adopted = dead.map((name) => this.#take(join(directory, name))).filter(isDefined)
    for (const name of names) {
      const [, id] = LOCK.exec(name) ?? []
      if (id === undefined || id === this.#id || this.#isAlive(id, owners)) continue
      // The folders of this dead owner have been adopted, or never existed.
      if (fs.info(join(directory, name))?.isForeign !== true) this.#removeIfThere(name)
    }
    return adopted
  }

  /** Whether a path belongs to another user. The content of such a path is neither trusted nor changed. Warns once. */
  isOthers(path: string, info: PathInfo): boolean {
    if (info.isForeign !== true) return false
    if (!this.#hasToldOfOthers) {
      this.#hasToldOfOthers = true
      this.#options.warn(
        `${path} belongs to another user, and is left alone: its events are not sent from here`,
      )
    }
    return true
  }

  /** Makes room for a damaged file: removes the oldest files in quarantine if there are too many. */
  quarantinePath(): string {
    const { fs, directory, now } = this.#options
    const quarantined = fs.list(directory).filter((name) => QUARANTINED.test(name))
    const surplus = quarantined.sort().slice(0, Math.max(0, quarantined.length + 1 - MAX_QUARANTINED))
    for (const name of surplus) this.#removeIfThere(name)
    const time = String(Math.max(0, Math.floor(now()))).padStart(13, '0')
    return join(directory, `${time}-${randomBytes(4).toString('hex')}.bad`)
  }

  removeIfEmpty(folder: string): void {
    try {
      this.#options.fs.removeDirectory(folder)
    } catch {
      // The folder is not empty, or no longer exists.
    }
  }

  /** Removes the lock, so that any process may adopt the folders. */
  close(): void {
    this.removeIfEmpty(this.own)
    this.#closeLock()
    this.#removeIfThere(`${this.#id}.lock`)
  }

  #makeDirectory(path: string): void {
    const { fs } = this.#options
    const kind = fs.info(path)?.kind
    if (kind === 'directory') return this.#refuseOthers(path)
    if (kind !== undefined) {
      throw Object.assign(new Error(`${path} is not a directory`), { code: 'ENOTDIR' })
    }
    const parent = join(path, '..')
    // Parent directories may be symbolic links.
    if (parent !== path && fs.info(parent) === undefined) this.#makeDirectory(parent)
    try {
      fs.makeDirectory(path)
    } catch (error) {
      // Another process has done it first.
      if (codeOf(error) !== 'EEXIST' || fs.info(path)?.kind !== 'directory') throw error
    }
  }

  /**
   * Refuses a directory in which other users can create files, because these would be sent with the credentials of this
   * process. Parent directories are not checked.
   */
  #refuseOthers(path: string): void {
    if (path !== this.#options.directory) return
    const info = this.#options.fs.info(path)
    const remedy = `give it to the user of this process alone (chmod 700), or use a new directory inside it`
    if (info?.isForeign === true) throw new Error(`it belongs to another user; ${remedy}`)
    if (info?.isOpenToOthers === true) throw new Error(`other users may write to it; ${remedy}`)
  }

  #closeLock(): void {
    const file = this.#lockFile
    this.#lockFile = undefined
    if (file !== undefined) this.#options.fs.close(file)
  }

  #isAlive(id: string, known: Map<string, boolean>): boolean {
    const before = known.get(id)
    if (before !== undefined) return before
    const { fs, directory, processes } = this.#options
    const info = fs.info(join(directory, `${id}.lock`))
    let is = false
    if (info?.kind === 'file') {
      // Both times are times of the file system if possible, because the clocks of two machines may differ.
      const nowMs = fs.info(this.#lock)?.modifiedMs ?? this.#options.now()
      is = isAlive(this.#readOwner(id), nowMs - info.modifiedMs, processes)
    }
    known.set(id, is)
    return is
  }

  #readOwner(id: string): Owner | undefined {
    try {
      return parseOwner(this.#options.fs.readText(join(this.#options.directory, `${id}.lock`)))
    } catch {
      return undefined
    }
  }

  /** @returns The new path of the folder; `undefined` when another process has adopted it first. */
  #take(from: string): string | undefined {
    const { fs, directory } = this.#options
    const to = join(directory, `${this.#id}.${++this.#adopted}`)
    try {
      fs.rename(from, to)
      return to
    } catch {
      return undefined
    }
  }

  #removeIfThere(name: string): void {
    try {
      this.#options.fs.remove(join(this.#options.directory, name))
    } catch {
      // Another process has done it first.
    }
  }
}

function isDefined<Value>(value: Value | undefined): value is Value {
  return value !== undefined
}
