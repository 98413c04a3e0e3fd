import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../../system-clock.ts'
import type { StepRunner } from '../dialect.ts'
import type { Query, Sql } from '../sql.ts'
import type { Database, SqlValue } from './database.ts'
import { dialectOf } from './dialect.ts'

/** How long a query may block the thread. A single statement may take longer. */
const SLICE_MS = 8

type Executor = (statement: Sql) => readonly unknown[]

export function executorOn(database: Database): Executor {
  return ({ sql, values }) => database.all(sql, ...(values as SqlValue[]))
}

export function runNow<T>(query: Query<T>, execute: Executor): T {
  let step = query.next([])
  while (!step.done) step = query.next(step.value === undefined ? [] : execute(step.value))
  return step.value
}

/**
 * Runs a query in several turns of the event loop, so that the thread is never blocked for long.
 *
 * @throws the reason of the signal when the signal is aborted. The signal is checked before each statement.
 */
export async function runInTurns<T>(query: Query<T>, execute: Executor, signal?: AbortSignal): Promise<T> {
  let sliceStart = systemClock.monotonic()
  let rows: readonly unknown[] = []
  for (;;) {
    signal?.throwIfAborted()
    const step = query.next(rows)
    if (step.done) return step.value
    rows = step.value === undefined ? [] : execute(step.value)
    if (systemClock.monotonic() - sliceStart < SLICE_MS) continue
    await nextTurn()
    sliceStart = systemClock.monotonic()
  }
}

/** @param requireSameFile Throws when the file was removed or replaced, because data written to the old file would be lost. */
export function stepRunner(database: Database, now: () => number, requireSameFile: () => void): StepRunner {
  const contextOf = () => ({ dialect: dialectOf(database), nowMs: now() })
  const execute = executorOn(database)
  return {
    read: async (steps) => runNow(steps(contextOf()), execute),
    async write(steps) {
      requireSameFile()
      return database.transaction(() => runNow(steps(contextOf()), execute))
    },
  }
}
