import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { version } from '../../package.json' with { type: 'json' }
import { REPOSITORY } from './project.ts'

test('S43: the bill of materials lists the packages that are compiled in, but no development dependencies', () => {
  const { path } = inject('installed').tarball
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-bill-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  cpSync(path, join(folder, basename(path)))

  execFileSync(process.execPath, [join(REPOSITORY, 'scripts/sbom.mjs'), folder])

  const bill = JSON.parse(readFileSync(join(folder, basename(path).replace('.tgz', '.cdx.json')), 'utf8'))
  const listed = bill.components.map(({ purl }: { purl: string }) => purl.replace(/@[^@]*$/, ''))
  expect(bill.bomFormat).toBe('CycloneDX')
  expect(bill.metadata.component.purl).toBe(`pkg:npm/trackpost@${version}`)
  expect(listed.sort()).toEqual([
    'pkg:npm/%40lukeed/csprng',
    'pkg:npm/%40lukeed/uuid',
    'pkg:npm/dset',
    'pkg:npm/jose',
  ])
})
