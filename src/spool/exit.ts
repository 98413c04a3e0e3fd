import process from 'node:process'
import { isDeno } from './rights.ts'

export interface Writing {
  flush(): void
}

const writing = new Set<Writing>()
let isWatching = false
let hasBegun = false

/** Whether the `exit` listeners are running. No timer or microtask runs after these. */
export function isExiting(): boolean {
  return hasBegun
}

/**
 * Writes the messages of the current turn if the process ends within the turn, by `process.exit()` or an exception. Messages
 * that other `exit` listeners add are written too.
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
