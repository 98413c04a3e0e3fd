import {
  close,
  closeSync,
  constants,
  fsync,
  futimesSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  read,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import process from 'node:process'
import { promisify } from 'node:util'
import { currentUser } from './rights.ts'

/** A symbolic link is neither a file nor a directory. */
export interface PathInfo {
  readonly kind: 'file' | 'directory' | 'other'
  readonly size: number
  readonly modifiedMs: number
  /** Whether the path belongs to another user. */
  readonly isForeign?: boolean
  /** Whether other users may write to the path. */
  readonly isOpenToOthers?: boolean
}

/**
 * The file operations of the spool. Operations that wait for the disk are asynchronous. The methods throw or reject with the
 * errors of the runtime, which have a `code` such as `ENOSPC`.
 */
export interface FileSystem {
  /** Creates a file that only its owner may use, and opens it for reading and writing. Fails if it exists. */
  create(path: string): number
  /** Refuses symbolic links. */
  open(path: string, mode: 'read' | 'write'): number
  /** Writes synchronously, and returns how many bytes were written. */
  write(file: number, bytes: Uint8Array, position: number): number
  /** Sets the time of the last change to now, which needs no room on the disk. */
  touch(file: number): void
  close(file: number): void
  /** Creates a directory that only its owner may enter. Fails if it exists. */
  makeDirectory(path: string): void
  list(path: string): string[]
  readText(path: string): string
  info(path: string): PathInfo | undefined
  rename(from: string, to: string): void
  remove(path: string): void
  removeDirectory(path: string): void
  /** Resolves when the content of the file is on the disk. */
  sync(file: number): Promise<void>
  /** Resolves when the entries of a directory are on the disk, on systems that support it. */
  syncDirectory(path: string): Promise<void>
  /** Resolves to the number of bytes that were read; 0 at the end of the file. */
  read(file: number, target: Uint8Array, position: number): Promise<number>
}

const closeAsync = promisify(close)
const fsyncAsync = promisify(fsync)
const openAsync = promisify<string, number, number>(open)

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = constants
const WRITABLE_BY_OTHERS = 0o022
/** Windows has no real file modes. */
const hasModes = process.platform !== 'win32'
/** Windows has no `O_NOFOLLOW`. */
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0

/** Error codes of systems on which a directory cannot be opened or synced. On these systems, its entries need no sync. */
const NOT_FOR_DIRECTORIES = new Set(['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'EBADF', 'ENOTSUP'])

let user: { readonly id: number | undefined } | undefined

export const nodeFileSystem: FileSystem = {
  create: (path) => openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600),
  open: (path, mode) => openSync(path, (mode === 'read' ? O_RDONLY : O_RDWR) | O_NOFOLLOW),
  write: (file, bytes, position) => writeSync(file, bytes, 0, bytes.length, position),
  touch: (file) => futimesSync(file, new Date(), new Date()),
  close: closeSync,
  makeDirectory: (path) => void mkdirSync(path, 0o700),
  list: (path) => readdirSync(path),
  readText: (path) => readFileSync(path, 'utf8'),
  info(path) {
    try {
      const info = lstatSync(path)
      const kind = info.isFile() ? 'file' : info.isDirectory() ? 'directory' : 'other'
      user ??= { id: currentUser() }
      return {
        kind,
        size: info.size,
        modifiedMs: info.mtimeMs,
        isForeign: user.id !== undefined && info.uid !== user.id,
        isOpenToOthers: hasModes && (info.mode & WRITABLE_BY_OTHERS) > 0,
      }
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
      throw error
    }
  },
  rename: renameSync,
  remove: unlinkSync,
  removeDirectory: (path) => rmdirSync(path),
  sync: fsyncAsync,
  async syncDirectory(path) {
    let directory: number | undefined
    try {
      directory = await openAsync(path, O_RDONLY)
      await fsyncAsync(directory)
    } catch (error) {
      if (!NOT_FOR_DIRECTORIES.has(codeOf(error))) throw error
    } finally {
      if (directory !== undefined) await closeAsync(directory)
    }
  },
  read: (file, target, position) =>
    new Promise((resolve, reject) => {
      read(file, target, 0, target.length, position, (error, count) => {
        if (error === null) resolve(count)
        else reject(error)
      })
    }),
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** Whether the permission model of Node.js has denied the operation. It always denies `fsync`. */
export function isDenied(error: unknown): boolean {
  return codeOf(error) === 'ERR_ACCESS_DENIED'
}

const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])

/** Whether the process lacks a resource, usually file descriptors. The files are then not damaged. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.has(codeOf(error))
}

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Whether there is no room for more data: writing to another file would fail too. */
export function isFull(error: unknown): boolean {
  return FULL.has(codeOf(error))
}

/** `close` takes effect after the running operations: otherwise the file descriptor could be reused too early. */
export class OpenFile {
  readonly #fs: FileSystem
  readonly #file: number
  #uses = 0
  #isClosing = false

  constructor(fs: FileSystem, file: number) {
    this.#fs = fs
    this.#file = file
  }

  /** The file descriptor, for synchronous operations. */
  get file(): number {
    return this.#file
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return this.#use(() => this.#fs.read(this.#file, target, position))
  }

  sync(): Promise<void> {
    return this.#use(() => this.#fs.sync(this.#file))
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    if (this.#uses === 0) this.#fs.close(this.#file)
  }

  async #use<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#uses++
    try {
      return await run()
    } finally {
      this.#uses--
      if (this.#isClosing && this.#uses === 0) this.#fs.close(this.#file)
    }
  }
}
