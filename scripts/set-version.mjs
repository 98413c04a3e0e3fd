// Puts the version of package.json into the source of the SDK and into the deployment files. `npm run version-packages` runs it
// after changesets has set the versions of the packages.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const deployed = execFileSync('git', ['ls-files', '*/deploy/*'], { encoding: 'utf8' }).trim().split('\n')
const PATTERNS = {
  'src/version.ts': /(?<=VERSION = ')[^']+/g,
  ...Object.fromEntries(deployed.map((path) => [path, /(?<=trackpost-\w+[@:])\d+\.\d+\.\d+/g])),
}
for (const [path, pattern] of Object.entries(PATTERNS)) {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(pattern, version))
}
