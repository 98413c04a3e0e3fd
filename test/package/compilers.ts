import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY, run } from './project.ts'

/**
 * The oldest and the newest version of TypeScript that the types support, and versions between them that changed how
 * types are checked.
 */
export const VERSIONS = ['5.0', '5.2', '5.6', '5.9', '6.0', '7.0'] as const

const folder = join(REPOSITORY, '.cache/typescript')

export function compiler(version: string): string {
  return join(folder, `node_modules/typescript-${version}/bin/tsc`)
}

/** Installs missing compilers in a folder that is kept after the test run, because they take 150 MB. */
export async function installCompilers(): Promise<void> {
  if (VERSIONS.every((version) => existsSync(compiler(version)))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "name": "compilers", "private": true }')
  const packages = VERSIONS.map((version) => `typescript-${version}@npm:typescript@${version}`)
  const flags = ['--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts']
  const { code, output } = await run('npm', ['install', ...packages, ...flags], folder)
  if (code !== 0) throw new Error(output)
}
