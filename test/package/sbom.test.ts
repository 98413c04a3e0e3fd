import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const repository = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => JSON.parse(readFileSync(`${repository}${path}`, 'utf8'))

// The suites of the collector and of the command line build their own packages, which may not be built yet.
const built = ['.', ...manifest.workspaces].filter((folder) =>
  existsSync(`${repository}${folder}/dist/LICENSES.txt`),
)

test('the bill of materials of each package lists dependencies and compiled-in packages, but no development dependencies', () => {
  execFileSync(process.execPath, [`${repository}scripts/sbom.mjs`, ...built])

  expect(built).toContain('.')
  for (const folder of built) {
    const { name, version, dependencies = {} } = read(`${folder}/package.json`)
    const { bomFormat, metadata, components } = read(`sbom/${name}.cdx.json`)
    const listed = components.map((one: { group?: string; name: string }) => one.name)
    expect(bomFormat).toBe('CycloneDX')
    expect(metadata.component.purl).toBe(`pkg:npm/${name}@${version}`)
    expect(listed).toEqual(expect.arrayContaining(Object.keys(dependencies)))
    if (folder === '.') expect(listed.sort()).toEqual(['@lukeed/csprng', '@lukeed/uuid', 'dset', 'jose'])
    expect(listed).not.toContain('vitest')
  }
})
