import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import process from 'node:process'
import { isMainThread, threadId } from 'node:worker_threads'
import { codeOf } from './file-system.ts'
import { mayAskSystem } from './rights.ts'

/** Who holds a folder: enough to tell its process from a later one of the same number. */
export interface Owner {
  readonly pid: number
  readonly host: string
  /** The worker thread; left out for the main thread, which lives as long as the process. */
  readonly thread?: number
  /** When the process started, in the terms of its system. */
  readonly started?: string
  /** The boot of the machine. */
  readonly boot?: string
  /** The name space of the process number: containers have their own. */
  readonly space?: string
}

/** The state of other processes, as the system reports it. */
export interface Processes {
  readonly self: Owner
  /** `undefined` when it cannot be known. */
  exists(pid: number): boolean | undefined
  startOf(pid: number): string | undefined
}

/** The same of a worker thread whose process lives: it beats every 15 s, and what it left is adopted within 90 s. */
const THREAD_SILENCE_MS = 60_000

/** An owner of which nothing else is known is dead when it has been silent for longer than this. */
export const SILENCE_MS = 90_000

/**
 * Whether the process that wrote `owner` may still be at work. On one machine the process table decides; across
 * containers and machines, only how long the owner has been silent.
 *
 * @param owner `undefined` when the lock could not be read.
 */
export function isAlive(owner: Owner | undefined, silentMs: number, processes: Processes): boolean {
  const isRecent = silentMs < SILENCE_MS
  if (owner === undefined || !sharesProcesses(owner, processes.self)) return isRecent
  const exists = processes.exists(owner.pid)
  if (exists !== true) return exists === undefined && isRecent
  const started = processes.startOf(owner.pid)
  // A number that was given again belongs to a process that started at another time.
  if (started === undefined || owner.started === undefined) return isRecent
  if (started !== owner.started) return false
  // Of threads no system tells: those of one process know of each other by their silence, as all others do.
  if (owner.thread === undefined || owner.thread === processes.self.thread) return true
  return silentMs < THREAD_SILENCE_MS
}

function sharesProcesses(owner: Owner, self: Owner): boolean {
  return owner.host === self.host && owner.boot === self.boot && owner.space === self.space
}

/** @returns `undefined` for something that is no owner. */
export function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Owner | null
    return typeof owner?.pid === 'number' && typeof owner.host === 'string' ? owner : undefined
  } catch {
    return undefined
  }
}

/** The processes of this machine. Built when the first spool is: reading it costs some system calls. */
export function systemProcesses(): Processes {
  // Deno would stop a program in a terminal to ask its user. What it cannot tell, silence does.
  const mayAsk = mayAskSystem()
  const read = (get: () => string): string | undefined => {
    try {
      return mayAsk ? get().trim() : undefined
    } catch {
      // Not this system, or not allowed.
      return undefined
    }
  }
  const startOf = (pid: number): string | undefined => {
    const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
    // The second field is a name in parentheses, which may hold anything.
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
        // It is somebody else's.
        return codeOf(error) === 'EPERM' ? true : undefined
      }
    },
  }
}
