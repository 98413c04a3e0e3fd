import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { version } from '../../package.json' with { type: 'json' }

const script = fileURLToPath(new URL('../../scripts/publish.mjs', import.meta.url))

/**
 * Runs scripts/publish.mjs with a fake npm that only records its calls.
 *
 * @param has The packages that the fake registry has.
 * @param failing The npm command that fails.
 */
function publish(
  has: readonly string[],
  failing = '',
  ...args: string[]
): { status: number | null; calls: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-publish-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const log = join(folder, 'log')
  const known = has.map((name) => `"view ${name}@${version} version") echo ${version} ;;`).join('\n')
  writeFileSync(
    join(folder, 'npm'),
    `#!/bin/sh\ncase "$*" in\n${known}\nview*) exit 1 ;;\n*) echo "$*" >> ${log}; [ "$*" != "${failing}" ] ;;\nesac\n`,
  )
  chmodSync(join(folder, 'npm'), 0o755)
  writeFileSync(log, '')
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` }
  const { status } = spawnSync(process.execPath, [script, ...args], { env })
  return { status, calls: readFileSync(log, 'utf8').split('\n').filter(Boolean) }
}

const FLAGS = 'publish --provenance --access public'

test('all packages are published, the SDK first', () => {
  expect(publish([])).toEqual({
    status: 0,
    calls: [FLAGS, `${FLAGS} --workspace collector`, `${FLAGS} --workspace cli`],
  })
})

test('a version that the registry has is left out', () => {
  expect(publish(['trackpost', 'trackpost-collector'])).toEqual({
    status: 0,
    calls: [`${FLAGS} --workspace cli`],
  })
})

test('a package that cannot be published stops the following ones', () => {
  expect(publish([], `${FLAGS} --workspace collector`)).toEqual({
    status: 1,
    calls: [FLAGS, `${FLAGS} --workspace collector`],
  })
})

test('a dry run uploads nothing, and passes --dry-run to npm for each package', () => {
  const dry = 'publish --dry-run --access public'

  expect(publish([], '', '--dry-run')).toEqual({
    status: 0,
    calls: [dry, `${dry} --workspace collector`, `${dry} --workspace cli`],
  })
})
