// Packs the built package, and installs it into an empty project, as a user would. Usage:
//   node scripts/install-packed.mjs FOLDER    creates FOLDER/project and FOLDER/installed.json
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export function installPacked(below) {
  const folder = join(below, 'project')
  mkdirSync(folder, { recursive: true })
  const printed = npm(['pack', '--json', '--loglevel=error', '--pack-destination', below], ROOT)
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[')))
  const tarball = { path: join(below, filename), files: files.map(({ path }) => path).sort() }
  writeFileSync(join(folder, 'package.json'), '{ "name": "a-user-of-trackpost", "private": true }')
  npm(['install', tarball.path, '--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund'], folder)
  const installed = { folder, tarball }
  writeFileSync(join(below, 'installed.json'), JSON.stringify(installed))
  return installed
}

function npm(args, cwd) {
  // Without the variables that `npm run` sets for the repository: npm would use them in the other folder.
  const isAboutRepository = /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$)/
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !isAboutRepository.test(name)),
  )
  // On Windows, npm is a script that only a shell can run.
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', shell: process.platform === 'win32' })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) installPacked(resolve(process.argv[2]))
