import { dirname } from 'node:path'
import type { FileSystem, PathInfo } from '../../src/spool/file-system.ts'

/** One file: the content that programs see, the content on the disk, and unsynced writes. */
interface FileNode {
  readonly kind: 'file'
  cached: Buffer
  durable: Buffer
  unsynced: { readonly position: number; readonly bytes: Buffer }[]
  modifiedMs: number
}

interface DirectoryNode {
  readonly kind: 'directory'
  cached: Map<string, Node>
  durable: Map<string, Node>
  /** Added, renamed and removed names that are not synced yet, in order. */
  unsynced: ((names: Map<string, Node>) => void)[]
  modifiedMs: number
}

type Node = FileNode | DirectoryNode

function directory(): DirectoryNode {
  return { kind: 'directory', cached: new Map(), durable: new Map(), unsynced: [], modifiedMs: 0 }
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code })
}

/**
 * A disk that can lose its power. Of each unsynced write, all, a part or nothing is then on the disk. After a failed
 * sync, the disk has dropped the unwritten data, as Linux does: the next sync succeeds although the data is lost.
 */
export class FakeDisk {
  readonly #random: () => number
  #root = directory()
  #files = new Map<number, FileNode>()
  #nextFile = 3
  #powerCuts = 0
  nowMs = 0
  /** Error codes for the next operations of each kind. Each operation takes the first code, and fails with it. */
  readonly faults: Record<'write' | 'sync' | 'create', string[]> = { write: [], sync: [], create: [] }
  /** Free bytes. */
  capacity = Number.POSITIVE_INFINITY
  writes = 0
  syncs = 0
  /** Called by each sync, which waits for the promise. The test replaces it to delay syncs. */
  slow: () => Promise<void> = () => Promise.resolve()

  /** @param random Numbers in [0, 1). */
  constructor(random: () => number) {
    this.#random = random
    const spool = directory()
    this.#root.cached.set('spool', spool)
    this.#root.durable.set('spool', spool)
  }

  /** Cuts the power and restores it: unsynced data may be lost, and all files are closed. */
  cutPower(): void {
    this.#files.clear()
    this.#powerCuts++
    const seen = new Set<Node>()
    const settle = (node: Node): void => {
      if (seen.has(node)) return
      seen.add(node)
      if (node.kind === 'file') return this.#settleFile(node)
      for (const change of node.unsynced) if (this.#random() < 0.5) change(node.durable)
      node.unsynced = []
      node.cached = new Map(node.durable)
      for (const child of node.cached.values()) settle(child)
    }
    settle(this.#root)
  }

  /** The file system of one process, until it dies. */
  mount(): { readonly fs: FileSystem; kill(): void } {
    let isDead = false
    const living = <Args extends unknown[], Result>(run: (...args: Args) => Result) => {
      return (...args: Args): Result => {
        if (isDead) throw failure('EKILLED')
        return run(...args)
      }
    }
    const later = <Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) => {
      return async (...args: Args): Promise<Result> => {
        if (isDead) await new Promise(() => {})
        return run(...args)
      }
    }
    const fs: FileSystem = {
      create: living((path) => this.#create(path)),
      open: living((path) => this.#open(this.#file(path))),
      write: living((file, bytes, position) => this.#write(file, bytes, position)),
      touch: (file) => {
        this.#opened(file).modifiedMs = this.nowMs
      },
      close: (file) => void this.#files.delete(file),
      makeDirectory: living((path) => this.#add(path, directory())),
      list: living((path) => [...this.#directory(path).cached.keys()]),
      readText: living((path) => this.#file(path).cached.toString()),
      info: living((path) => this.#info(path)),
      rename: living((from, to) => this.#rename(from, to)),
      remove: living((path) => this.#remove(path, 'file')),
      removeDirectory: living((path) => this.#remove(path, 'directory')),
      sync: later((file) => this.#sync(file)),
      syncDirectory: later(async (path) => this.#syncDirectory(path)),
      read: later(async (file, target, position) => this.#read(file, target, position)),
    }
    return {
      fs,
      kill() {
        isDead = true
      },
    }
  }

  get usedBytes(): number {
    const size = (node: Node): number =>
      node.kind === 'file'
        ? node.cached.length
        : [...node.cached.values()].reduce((sum, one) => sum + size(one), 0)
    return size(this.#root)
  }

  /** The paths of all files that programs see. */
  get paths(): string[] {
    const walk = (node: DirectoryNode, path: string): string[] =>
      [...node.cached].flatMap(([name, child]) =>
        child.kind === 'file' ? [`${path}/${name}`] : walk(child, `${path}/${name}`),
      )
    return walk(this.#root, '')
  }

  /** Changes a file directly, as another program could. */
  alter(path: string, change: (bytes: Buffer) => Buffer): void {
    const file = this.#file(path)
    file.cached = change(Buffer.from(file.cached))
    file.durable = Buffer.from(file.cached)
    file.unsynced = []
  }

  removeAll(path: string): void {
    const parent = this.#directory(dirname(path))
    parent.cached.delete(nameOf(path))
    parent.durable.delete(nameOf(path))
  }

  #settleFile(file: FileNode): void {
    for (const { position, bytes } of file.unsynced) {
      const chance = this.#random()
      if (chance < 0.4) continue
      // A part of the data, probably cut in the middle of a record.
      const kept = chance < 0.7 ? bytes.subarray(0, Math.floor(this.#random() * bytes.length)) : bytes
      file.durable = written(file.durable, kept, position)
      // The file may have its new length, but zeros instead of the content.
      if (chance > 0.9) file.durable.fill(0, position, position + kept.length)
    }
    file.unsynced = []
    file.cached = Buffer.from(file.durable)
  }

  #create(path: string): number {
    this.#inject('create')
    const file: FileNode = {
      kind: 'file',
      cached: Buffer.alloc(0),
      durable: Buffer.alloc(0),
      unsynced: [],
      modifiedMs: this.nowMs,
    }
    this.#add(path, file)
    return this.#open(file)
  }

  #open(file: FileNode): number {
    this.#files.set(this.#nextFile, file)
    return this.#nextFile++
  }

  #write(number: number, bytes: Uint8Array, position: number): number {
    const file = this.#opened(number)
    this.#inject('write')
    const growth = Math.max(0, position + bytes.length - file.cached.length)
    const room = Math.max(0, this.capacity - this.usedBytes)
    const length = growth > room ? bytes.length - (growth - room) : bytes.length
    if (length <= 0) throw failure('ENOSPC')
    const kept = Buffer.from(bytes.subarray(0, length))
    file.cached = written(file.cached, kept, position)
    file.unsynced.push({ position, bytes: kept })
    file.modifiedMs = this.nowMs
    this.writes++
    return length
  }

  async #sync(number: number): Promise<void> {
    const file = this.#opened(number)
    const { unsynced } = file
    this.syncs++
    const powerCuts = this.#powerCuts
    await this.slow()
    // A power cut during the sync: nothing more is written.
    if (powerCuts !== this.#powerCuts) return
    const fault = this.faults.sync.shift()
    file.unsynced = file.unsynced.filter((one) => !unsynced.includes(one))
    if (fault !== undefined) throw failure(fault)
    for (const { position, bytes } of unsynced) file.durable = written(file.durable, bytes, position)
  }

  #syncDirectory(path: string): void {
    const node = this.#directory(path)
    node.unsynced = []
    node.durable = new Map(node.cached)
  }

  #read(number: number, target: Uint8Array, position: number): number {
    const bytes = this.#opened(number).cached.subarray(position, position + target.length)
    target.set(bytes)
    return bytes.length
  }

  #info(path: string): PathInfo | undefined {
    const node = this.#find(path)
    if (node === undefined) return undefined
    return {
      kind: node.kind,
      size: node.kind === 'file' ? node.cached.length : 0,
      modifiedMs: node.modifiedMs,
    }
  }

  #rename(from: string, to: string): void {
    const node = this.#find(from)
    if (node === undefined) throw failure('ENOENT')
    const [source, target] = [this.#directory(dirname(from)), this.#directory(dirname(to))]
    if (source !== target) {
      this.#change(target, (names) => names.set(nameOf(to), node))
      this.#change(source, (names) => names.delete(nameOf(from)))
    } else {
      this.#change(source, (names) => {
        const same = names.get(nameOf(from))
        if (same === undefined) return
        names.delete(nameOf(from))
        names.set(nameOf(to), same)
      })
    }
  }

  #remove(path: string, kind: Node['kind']): void {
    const node = this.#find(path)
    if (node?.kind !== kind) throw failure('ENOENT')
    if (node.kind === 'directory' && node.cached.size > 0) throw failure('ENOTEMPTY')
    this.#change(this.#directory(dirname(path)), (names) => names.delete(nameOf(path)))
  }

  #add(path: string, node: Node): void {
    const parent = this.#directory(dirname(path))
    if (parent.cached.has(nameOf(path))) throw failure('EEXIST')
    this.#change(parent, (names) => names.set(nameOf(path), node))
  }

  #change(parent: DirectoryNode, change: (names: Map<string, Node>) => void): void {
    change(parent.cached)
    parent.unsynced.push(change)
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#root
    for (const name of path.split('/').filter((one) => one !== '')) {
      node = node?.kind === 'directory' ? node.cached.get(name) : undefined
    }
    return node
  }

  #directory(path: string): DirectoryNode {
    const node = this.#find(path)
    if (node?.kind !== 'directory') throw failure('ENOENT')
    return node
  }

  #file(path: string): FileNode {
    const node = this.#find(path)
    if (node?.kind !== 'file') throw failure('ENOENT')
    return node
  }

  #opened(number: number): FileNode {
    const file = this.#files.get(number)
    if (file === undefined) throw failure('EBADF')
    return file
  }

  #inject(kind: 'write' | 'create'): void {
    const fault = this.faults[kind].shift()
    if (fault !== undefined) throw failure(fault)
  }
}

function written(file: Buffer, bytes: Buffer, position: number): Buffer {
  const longer = Buffer.alloc(Math.max(file.length, position + bytes.length))
  file.copy(longer)
  bytes.copy(longer, position)
  return longer
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
