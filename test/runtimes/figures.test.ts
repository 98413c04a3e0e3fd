import { execFile } from 'node:child_process'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'

/** KiB on disk: whole blocks, as `du` counts. Each entry of package.json is there twice, with its types. */
const MAX_INSTALLED_KIB = 1_048
/**
 * Limits for the code that Node.js parses when the package is imported. The CommonJS file also contains the code for
 * OAuth, with jose, which Node.js compiles only with the first token.
 */
const MAX_IMPORT = { files: 3, characters: 207_000 }

interface Loaded {
  readonly files: string[]
  readonly bytes: number
  /** Public modules of Node.js that the import loaded. */
  readonly builtins: string[]
}

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

test('only this package is installed, and its files stay within their budget', async () => {
  const folder = join(project.folder, 'node_modules')
  const files = project.tarball.files.map((path) => lstat(join(folder, 'trackpost', path)))
  const total = (await Promise.all(files)).reduce((sum, { blocks }) => sum + blocks / 2, 0)

  console.log(`installed: ${total} KiB`)
  // Its dependencies are compiled in.
  expect((await readdir(folder)).filter((name) => !name.startsWith('.'))).toEqual(['trackpost'])
  expect(total).toBeLessThanOrEqual(MAX_INSTALLED_KIB)
})

describe('the import', () => {
  // Measures how much code the inspector reports as parsed, not the time, which depends on the machine.
  const LOADS = {
    'import.mjs': `
import { Session } from 'node:inspector'
import 'node:crypto'
const load = () => import('trackpost')`,
    'require.cjs': `
const { Session } = require('node:inspector')
require('node:crypto')
const load = () => require('trackpost')`,
  }
  const MEASURE = `
const session = new Session()
session.connect()
const parsed = []
session.on('Debugger.scriptParsed', ({ params: { url, length } }) => parsed.push([url, length]))
session.post('Debugger.enable', async () => {
  // Debugger.enable also reports the scripts that were parsed before. They do not count.
  parsed.length = 0
  const before = new Set(process.moduleLoadList)
  await load()
  const builtins = process.moduleLoadList.filter((name) => !before.has(name) && /^NativeModule (?!internal)/.test(name))
  const files = parsed.filter(([url]) => url.startsWith('file:'))
  const bytes = files.reduce((sum, [, length]) => sum + length, 0)
  console.log(JSON.stringify({ files: files.map(([url]) => url), bytes, builtins }))
})`

  test.each(Object.entries(LOADS))(
    'stays within the limits of files and code, and loads only node:crypto: %s',
    async (name, text) => {
      const path = await project.write(name, text + MEASURE)

      const output = await new Promise<string>((resolve, reject) => {
        execFile(process.execPath, [path], (error, stdout) =>
          error === null ? resolve(stdout) : reject(error),
        )
      })

      const { files, bytes, builtins } = JSON.parse(output) as Loaded
      console.log(`${name}: ${files.length} files, ${bytes} characters`)
      const names = files.map((url) => url.slice(url.lastIndexOf('/node_modules/') + 14))
      expect(names.some((file) => file.startsWith('trackpost/'))).toBe(true)
      expect(names.length, names.join()).toBeLessThanOrEqual(MAX_IMPORT.files)
      expect(bytes).toBeLessThanOrEqual(MAX_IMPORT.characters)
      expect(builtins).toEqual([])
    },
  )
})
