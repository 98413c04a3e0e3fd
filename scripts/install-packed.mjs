// Packs built packages, and installs them into empty projects, as a user would. Usage:
//   node scripts/install-packed.mjs FOLDER    creates FOLDER/project and FOLDER/installed.json, for the SDK
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export function pack(workspace, below) {
  const folder = join(ROOT, workspace)
  const printed = npm(['pack', '--json', '--loglevel=error', '--pack-destination', below], folder)
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[\n')))
  return { path: join(below, filename), files: files.map(({ path }) => path).sort() }
}

export function install(folder, ...tarballs) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "name": "a-user-of-trackpost", "private": true }')
  const flags = ['--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  npm(['install', ...tarballs.map(({ path }) => path), ...flags], folder)
}

export function installPacked(below) {
  const folder = join(below, 'project')
  mkdirSync(below, { recursive: true })
  const tarball = pack('.', below)
  install(folder, tarball)
  const installed = { folder, tarball }
  writeFileSync(join(below, 'installed.json'), JSON.stringify(installed))
  return installed
}

function npm(args, cwd) {
  // Without the variables that `npm run` and Vitest set for the repository: npm would use them in the other folder.
  const isAboutRepository =
    /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|VITEST|NODE_ENV$|TEST$)/
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !isAboutRepository.test(name)),
  )
  // On Windows, npm is a script that only a shell can run.
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', shell: process.platform === 'win32' })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) installPacked(resolve(process.argv[2]))
