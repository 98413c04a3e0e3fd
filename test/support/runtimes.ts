import { getCurrentTest } from 'vitest/suite'
import { findRuntime } from '../../scripts/fetch-runtimes.mjs'

/** Returns the path of a runtime's binary. If the runtime could not be downloaded, skips the running test. */
export function runtime(name: string): string {
  const path = findRuntime(name)
  if (path === undefined) skip(`${name} is not in the cache: npm run runtimes`)
  return path as string
}

/** Skips the running test. A concurrent test must use `skip` of its own context instead. */
export function skip(reason: string): void {
  getCurrentTest()?.context.skip(reason)
  throw new Error(`no test is running that could be skipped: ${reason}`)
}
