import { describe, expect, test } from 'vitest'
import { isAlive, type Owner, type Processes } from '../../src/spool/owner.ts'

const SELF: Owner = { pid: 7, machine: 'shop-1', started: '100' }

/** A process table: maps the number of each running process to its start time. */
function createTable(table: Record<number, string>, thread?: number): Processes {
  return {
    self: thread === undefined ? SELF : { ...SELF, thread },
    exists: (pid) => pid in table,
    startOf: (pid) => table[pid],
  }
}

const table = { 7: '100', 8: '200' }

// An owner is silent when it has not touched its lock for 90 s.
describe('whether an owner counts as alive', () => {
  test.each<[string, Partial<Owner> | undefined, number, boolean]>([
    ['its own process', {}, 1_000_000, true],
    ['another process', { pid: 8, started: '200' }, 1_000_000, true],
    ['a process that has ended', { pid: 9, started: '300' }, 0, false],
    ['a process number that was used again', { pid: 8, started: '150' }, 0, false],
    ['another machine, not silent', { machine: 'shop-2' }, 89_000, true],
    ['another machine, silent', { machine: 'shop-2' }, 90_000, false],
    ['a lock that cannot be read, not silent', undefined, 89_000, true],
    ['a worker thread of its own process, not silent', { thread: 3 }, 89_000, true],
    ['a worker thread of its own process, silent', { thread: 3 }, 90_000, false],
    ['a worker thread of another process, silent', { pid: 8, started: '200', thread: 3 }, 90_000, false],
    ['a worker thread of a process that has ended', { pid: 9, started: '300', thread: 3 }, 0, false],
  ])('as the main thread sees it: %s', (_, owner, silentMs, expected) => {
    expect(isAlive(owner && { ...SELF, ...owner }, silentMs, createTable(table))).toBe(expected)
  })

  test.each<[string, Partial<Owner>, number, boolean]>([
    ['itself, however long it was busy', { thread: 3 }, 1_000_000, true],
    ['the main thread, which lives as long as the process', {}, 1_000_000, true],
    ['another thread, not silent', { thread: 4 }, 89_000, true],
    ['another thread, silent', { thread: 4 }, 90_000, false],
  ])('as a worker thread sees it: %s', (_, owner, silentMs, expected) => {
    expect(isAlive({ ...SELF, ...owner }, silentMs, createTable(table, 3))).toBe(expected)
  })
})
