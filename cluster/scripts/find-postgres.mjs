// Prints the folder with the programs of a PostgreSQL server, version 14 or later. Exits with 1 if there is none.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MIN_VERSION = 14
/** Folders outside PATH that have a subfolder for each installed version. */
const PLACES = ['/usr/lib/postgresql', '/usr/local/opt', '/opt/homebrew/opt']

/** If `POSTGRES_BIN` is set, only that folder counts. */
export function findPostgres(env = process.env) {
  const given = env.POSTGRES_BIN
  const folders = given ? [given] : [...(env.PATH ?? '').split(delimiter), ...versionFolders()]
  return folders.find((folder) => folder !== '' && versionOf(folder) >= MIN_VERSION)
}

function versionFolders() {
  return PLACES.filter((place) => existsSync(place)).flatMap((place) =>
    readdirSync(place)
      .sort((one, other) => other.localeCompare(one, 'en', { numeric: true }))
      .map((version) => join(place, version, 'bin')),
  )
}

function versionOf(folder) {
  if (!['postgres', 'initdb'].every((program) => existsSync(join(folder, program)))) return 0
  try {
    return Number(
      /(\d+)/.exec(execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[1],
    )
  } catch {
    return 0
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = findPostgres()
  if (found === undefined) process.exitCode = 1
  else console.log(found)
}
