import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { Project } from '../package/project.ts'
import { runtime } from '../support/runtimes.ts'

/**
 * Runs a program of the project on a runtime of test/runtimes/package.json, and returns the JSON that it prints. A program that
 * fails, or prints to stderr, fails the test.
 */
export function runOn(
  name: string,
  project: Project,
  file: string,
  env: Record<string, string | undefined> = {},
): Promise<unknown> {
  const args = name === 'deno' ? ['run', '-A', '--node-modules-dir=manual'] : []
  const options = { env: { PATH: '/usr/bin:/bin', NODE_NO_WARNINGS: '1', ...env } }
  return new Promise((resolve, reject) => {
    execFile(runtime(name), [...args, join(project.folder, file)], options, (error, stdout, stderr) => {
      if (error !== null || stderr !== '') reject(new Error(`${error?.message}\n${stderr}`))
      else resolve(JSON.parse(stdout))
    })
  })
}
