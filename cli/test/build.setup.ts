import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { install, pack } from '../../scripts/install-packed.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of a project in which the packed package is installed. */
    project: string
  }
}

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** Builds, packs and installs the command, so that tests run what users get. */
export default function setup({ provide }: TestProject): () => void {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trackpost-cli-')))
  const build = (path: string): void =>
    void execFileSync('npm', ['run', '--silent', 'build', '--', '--silent', '--no-dts'], {
      cwd: join(REPOSITORY, path),
      stdio: 'inherit',
    })
  if (!existsSync(join(REPOSITORY, 'dist/index.js'))) build('.')
  if (!existsSync(join(REPOSITORY, 'collector/dist/cli.js'))) build('collector')
  build('cli')
  install(folder, pack('cli', folder))
  provide('project', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
