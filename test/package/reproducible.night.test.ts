import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { REPOSITORY, run } from './project.ts'

/** With `--full`, also compares the declarations, which take ten times as long to build as the code. */
const IS_FULL = process.env['TEST_FULL'] === '1'

function digests(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (one) => one.isFile() && (IS_FULL || !/\.d\.c?ts$/.test(one.name)),
  )
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort()
  const digest = (path: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, path)))
      .digest('hex')
  return Object.fromEntries(paths.map((path) => [path, digest(path)]))
}

test('S41: a second build in another folder gives the same files', async () => {
  // The folder is inside the repository, so that the build tools are found.
  mkdirSync(join(REPOSITORY, '.cache'), { recursive: true })
  const folder = realpathSync(mkdtempSync(join(REPOSITORY, '.cache', 'rebuilt-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['src', 'scripts/licenses.mjs', 'package.json', 'tsconfig.json', 'tsup.config.ts']) {
    cpSync(join(REPOSITORY, name), join(folder, name), { recursive: true })
  }
  // Copies these dependencies too, because their location decides their order in the built file.
  for (const name of ['jose', 'dset', '@lukeed/uuid', '@lukeed/csprng']) {
    cpSync(join(REPOSITORY, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true })
  }

  const { code, output } = await run('npx', ['tsup', '--silent', ...(IS_FULL ? [] : ['--no-dts'])], folder)

  expect(code, output).toBe(0)
  const rebuilt = digests(join(folder, 'dist'))
  expect(Object.keys(rebuilt).length).toBeGreaterThan(20)
  expect(rebuilt).toEqual(digests(join(REPOSITORY, 'dist')))
}, 600_000)
