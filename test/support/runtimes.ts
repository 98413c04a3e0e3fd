import { getCurrentTest } from 'vitest/suite'
import { findRuntime } from '../../scripts/fetch-runtimes.mjs'

/** The path of a runtime's binary. If it could not be downloaded, the calling test is skipped, and counted as skipped. */
export function runtime(name: string): string {
  const path = findRuntime(name)
  if (path === undefined) skip(`${name} is not in the cache: npm run runtimes`)
  return path as string
}

/** Skips the present test. Not for concurrent tests: those have `skip` in their context. */
export function skip(reason: string): void {
  getCurrentTest()?.context.skip(reason)
  throw new Error(`no test is running that could be skipped: ${reason}`)
}
