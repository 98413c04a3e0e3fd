// Puts the builds of packed packages in their places, as if they had been built here: `node scripts/unpack.mjs FOLDER`.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const readManifest = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
for (const folder of readManifest('.').workspaces) {
  const { name, version } = readManifest(folder)
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const tarball = join(process.argv[2], `${name}-${version}.tgz`)
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1', 'package/dist'])
}
