import process from 'node:process'
import { isDeno } from './rights.ts'

/** A spool that may have something to write. */
export interface Writing {
  /** Writes what waits for the end of the turn. */
  flush(): void
}

const writing = new Set<Writing>()
let isWatching = false
let hasBegun = false

/** Whether the listeners of `exit` run: there is no later. */
export function isExiting(): boolean {
  return hasBegun
}

/**
 * A process that ends within a turn, by `process.exit()` or an exception, still writes what the turn has brought, and what its
 * other listeners of `exit` track. One listener for all spools; it changes neither the exit code nor what is printed.
 */
export function watchExit(spool: Writing): void {
  if (!isWatching) {
    isWatching = true
    process.on('exit', () => {
      hasBegun = true
      flushAll()
    })
    if (isDeno) process.on('uncaughtExceptionMonitor', flushAll)
  }
  writing.add(spool)
}

function flushAll(): void {
  for (const one of writing) one.flush()
}

export function unwatchExit(spool: Writing): void {
  writing.delete(spool)
}
