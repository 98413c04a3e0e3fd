import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import process from 'node:process'
import { isMainThread, threadId } from 'node:worker_threads'
import { codeOf, mayAskSystem } from './rights.ts'

/** Identifies the process that owns a folder, so that it is not confused with a later process with the same process id. */
export interface Owner {
  readonly pid: number
  readonly host: string
  /** The id of the worker thread; absent for the main thread. */
  readonly thread?: number
  /** Start time of the process, in the unit of the operating system. */
  readonly started?: string
  /** Boot id of the machine. */
  readonly boot?: string
  /** PID namespace. Each container has its own. */
  readonly space?: string
}

export interface Processes {
  readonly self: Owner
  /** Whether the process exists; `undefined` when unknown. */
  exists(pid: number): boolean | undefined
  startOf(pid: number): string | undefined
}

/** A worker thread counts as dead after this time without a heartbeat (due every 15 s), even if its process is alive. */
const THREAD_SILENCE_MS = 60_000

/** Without other information, an owner counts as dead after this time without a heartbeat. */
export const SILENCE_MS = 90_000

/**
 * Whether the process that wrote `owner` may still be running. On the same machine, the process table decides. For other
 * machines and containers, the time since the last heartbeat decides.
 *
 * @param owner The content of the lock; `undefined` when it could not be read.
 */
export function isAlive(owner: Owner | undefined, silentMs: number, processes: Processes): boolean {
  const isRecent = silentMs < SILENCE_MS
  if (owner === undefined || !sharesProcesses(owner, processes.self)) return isRecent
  const exists = processes.exists(owner.pid)
  if (exists !== true) return exists === undefined && isRecent
  const started = processes.startOf(owner.pid)
  // A reused process id belongs to a process with another start time.
  if (started === undefined || owner.started === undefined) return isRecent
  if (started !== owner.started) return false
  // The threads of other processes cannot be listed, so for worker threads the heartbeat decides.
  if (owner.thread === undefined || owner.thread === processes.self.thread) return true
  return silentMs < THREAD_SILENCE_MS
}

function sharesProcesses(owner: Owner, self: Owner): boolean {
  return owner.host === self.host && owner.boot === self.boot && owner.space === self.space
}

/** @returns `undefined` for text that is not an owner. */
export function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Owner | null
    return typeof owner?.pid === 'number' && typeof owner.host === 'string' ? owner : undefined
  } catch {
    return undefined
  }
}

/** Makes some system calls, so it is called only when a spool is made. */
export function systemProcesses(): Processes {
  // Without permission, the heartbeat decides.
  const mayAsk = mayAskSystem()
  const read = (get: () => string): string | undefined => {
    try {
      return mayAsk ? get().trim() : undefined
    } catch {
      // Not available on this system, or not allowed.
      return undefined
    }
  }
  const startOf = (pid: number): string | undefined => {
    const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
    // The second field is a name in parentheses, which may contain any character.
    return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  }
  const known = {
    started: startOf(process.pid),
    boot: read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')),
    space: read(() => readlinkSync('/proc/self/ns/pid')),
    thread: isMainThread ? undefined : threadId,
  }
  const self = { pid: process.pid, host: read(hostname) ?? '' }
  for (const [name, value] of Object.entries(known))
    if (value !== undefined) Object.assign(self, { [name]: value })
  return {
    self,
    startOf,
    exists(pid) {
      if (!mayAsk) return undefined
      try {
        process.kill(pid, 0)
        return true
      } catch (error) {
        if (codeOf(error) === 'ESRCH') return false
        // `EPERM`: the process belongs to another user.
        return codeOf(error) === 'EPERM' ? true : undefined
      }
    },
  }
}
