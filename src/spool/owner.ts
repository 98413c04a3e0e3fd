import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import process from 'node:process'
import { isMainThread, threadId } from 'node:worker_threads'
import { codeOf, mayAskSystem } from './rights.ts'

/** Identifies the process that owns a folder, so that it is not confused with a later process with the same process id. */
export interface Owner {
  readonly pid: number
  /** The host, its boot id and the PID namespace (each container has its own): within one, process ids can be compared. */
  readonly machine: string
  /** Start time of the process, in the unit of the operating system. */
  readonly started?: string | undefined
  /** The id of the worker thread; absent for the main thread. */
  readonly thread?: number | undefined
}

export interface Processes {
  readonly self: Owner
  /** Whether the process exists; `undefined` when unknown. */
  exists(pid: number): boolean | undefined
  startOf(pid: number): string | undefined
}

/** Without other information, an owner counts as dead after this time without a heartbeat (due every 15 s). */
export const SILENCE_MS = 90_000

/**
 * Whether the process that wrote `owner` may still be running. On the same machine, the process table decides. Otherwise, the
 * time since the last heartbeat decides.
 *
 * @param owner `undefined` when the lock could not be read.
 */
export function isAlive(owner: Owner | undefined, silentMs: number, processes: Processes): boolean {
  const { self } = processes
  const isRecent = silentMs < SILENCE_MS
  if (owner?.machine !== self.machine) return isRecent
  const exists = processes.exists(owner.pid)
  if (exists !== true) return exists === undefined && isRecent
  const started = processes.startOf(owner.pid)
  // A reused process id belongs to a process with another start time.
  if (started === undefined || owner.started === undefined) return isRecent
  if (started !== owner.started) return false
  // The threads of other processes cannot be listed.
  return owner.thread === undefined || owner.thread === self.thread || isRecent
}

/** Makes some system calls, so it is called only when a spool is made. */
export function systemProcesses(): Processes {
  // Without permission, the heartbeat decides.
  const mayAsk = mayAskSystem()
  const read = (get: () => string): string | undefined => {
    try {
      return mayAsk ? get().trim() : undefined
    } catch {
      return undefined
    }
  }
  const startOf = (pid: number): string | undefined => {
    const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
    // The second field is a name in parentheses, which may contain any character.
    return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  }
  const boot = read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1'))
  const space = read(() => readlinkSync('/proc/self/ns/pid'))
  return {
    self: {
      pid: process.pid,
      machine: [read(hostname), boot, space].join(' '),
      started: startOf(process.pid),
      thread: isMainThread ? undefined : threadId,
    },
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
