import process from 'node:process'
import { isDeno } from './rights.ts'

/** A spool that may have messages to write. */
export interface Writing {
  /** Writes the messages that wait for the end of the turn. */
  flush(): void
}

const writing = new Set<Writing>()
let isWatching = false
let hasBegun = false

/** Whether the `exit` listeners are running: nothing runs after them. */
export function isExiting(): boolean {
  return hasBegun
}

/**
 * When a process ends within a turn, by `process.exit()` or an exception, the messages of that turn, and those that other
 * `exit` listeners add, are still written. One listener for all spools; it changes neither the exit code nor the output.
 */
export function flushOnExit(spool: Writing): void {
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

export function cancelFlushOnExit(spool: Writing): void {
  writing.delete(spool)
}
