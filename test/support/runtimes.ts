import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TestRunner } from 'vitest'
import { findPackages } from '../../scripts/fetch-packages.mjs'

const folder = findPackages('test/runtimes')

const PROGRAMS: Record<string, string> = {
  node: 'bin/node',
  bun: 'bin/bun',
  deno: 'deno',
  workerd: 'bin/workerd',
}

/** Returns the path of a runtime's binary, or of a module, by its name in test/runtimes/package.json, if it was downloaded. */
export function findRuntime(name: string): string | undefined {
  if (folder === undefined) return undefined
  const path = join(folder, 'node_modules', name, PROGRAMS[name.replace(/^node-\d+$/, 'node')] ?? 'index.js')
  return existsSync(path) ? path : undefined
}

/** Returns the path of a runtime's binary. If the runtime could not be downloaded, skips the running test. */
export function runtime(name: string): string {
  const path = findRuntime(name)
  if (path === undefined) skip(`${name} is not in the cache: npm run runtimes`)
  return path as string
}

/** Skips the running test. A concurrent test must use `skip` of its own context instead. */
export function skip(reason: string): void {
  TestRunner.getCurrentTest()?.context.skip(reason)
  throw new Error(`no test is running that could be skipped: ${reason}`)
}
