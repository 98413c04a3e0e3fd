// Adds lockfile entries for platform packages (such as `@esbuild/darwin-arm64`) that the configured registry does not have. npm
// leaves these packages out when it writes the lockfile, and then `npm ci` refuses the lockfile as incomplete:
// https://github.com/npm/cli/issues/9846. In an entry, version and platform are enough: npm skips packages for other platforms.
import { readFileSync, writeFileSync } from 'node:fs'

const OS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const CPU = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

const [path = 'package-lock.json'] = process.argv.slice(2)
const lock = JSON.parse(readFileSync(path, 'utf8'))
const added = []

for (const [parent, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const isThere = [`${parent}/node_modules/${name}`, `node_modules/${name}`].some(
      (key) => lock.packages[key]?.version,
    )
    // A dependency with a version range is not a platform package.
    if (isThere || !/^\d/.test(version)) continue
    const words = name.split(/[-/]/)
    const platform = (names) => names.filter((one) => words.includes(one))
    const libc = words.flatMap((word) =>
      word.startsWith('musl') ? ['musl'] : word.startsWith('gnu') ? ['glibc'] : [],
    )
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: platform(CPU),
      ...(dev ? { dev } : {}),
      ...(libc.length > 0 ? { libc } : {}),
      optional: true,
      os: platform(OS),
    }
    added.push(`${name}@${version}`)
  }
}

const entries = Object.entries(lock.packages).sort(([one], [other]) => (one < other ? -1 : 1))
lock.packages = Object.fromEntries(entries)
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
console.log(added.length === 0 ? 'complete' : `added ${added.length} entries`)
