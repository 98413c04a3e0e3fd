import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

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
  const run = (command: string, args: string[], cwd: string): string =>
    execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  if (!existsSync(join(REPOSITORY, 'dist/index.js'))) run('npm', ['run', '--silent', 'build'], REPOSITORY)
  const collector = join(REPOSITORY, 'collector')
  if (!existsSync(join(collector, 'dist/cli.js'))) run('npm', ['run', '--silent', 'build'], collector)
  run('npm', ['run', '--silent', 'build'], join(REPOSITORY, 'cli'))
  const packed = run(
    'npm',
    ['pack', '--json', '--loglevel=error', '--pack-destination', folder],
    join(REPOSITORY, 'cli'),
  )
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[\n'))) as [{ filename: string }]
  writeFileSync(join(folder, 'package.json'), '{ "name": "a-user-of-the-cli", "private": true }')
  const flags = ['--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  run('npm', ['install', join(folder, filename), ...flags], folder)
  provide('project', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}

/** The environment without the variables that `npm run` sets, because they would mislead npm in another folder. */
function environment(): NodeJS.ProcessEnv {
  const isAboutRepository =
    /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|VITEST|NODE_ENV$|TEST$)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isAboutRepository.test(name)))
}
