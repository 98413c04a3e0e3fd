import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { VERSION } from '../src/version.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

test('the code, each package, the lockfile and the deployment files have the version of package.json', () => {
  const lock = JSON.parse(read('package-lock.json'))
  const deployed = execFileSync('git', ['ls-files', '*/deploy/*'], { encoding: 'utf8' }).trim().split('\n')
  const images = deployed.flatMap((path) => [...read(path).matchAll(/trackpost-\w+[@:](\d+\.\d+\.\d+)/g)])

  expect(VERSION).toBe(manifest.version)
  for (const folder of manifest.workspaces) {
    expect(JSON.parse(read(`${folder}/package.json`)).version, folder).toBe(manifest.version)
    expect(lock.packages[folder === '.' ? '' : folder].version, folder).toBe(manifest.version)
  }
  expect(images.length).toBeGreaterThan(4)
  expect(new Set(images.map(([, version]) => version))).toEqual(new Set([manifest.version]))
})
