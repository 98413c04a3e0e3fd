import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../../src')
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path = '']) =>
    relative(root, resolve(root, file, '..', path)),
  )
}

// The module that opens stores, and the threads of the SQLite store.
const MAY_KNOW_IT = ['open-store.ts', 'workers/reader.ts', 'workers/checkpoint.ts']

test('nothing outside the folder of the SQLite store depends on its implementation', () => {
  const knowing = files
    .filter((file) => !file.startsWith('store/sqlite/') && !MAY_KNOW_IT.includes(file))
    .filter((file) => importsOf(file).some((path) => path.startsWith('store/sqlite/')))

  expect(files.length).toBeGreaterThan(100)
  expect(importsOf('open-store.ts').some((path) => path.startsWith('store/sqlite/'))).toBe(true)
  expect(knowing).toEqual([])
})

test('the code that all stores share contains no SQL', () => {
  const shared = files.filter((file) => file.startsWith('store/') && file.split('/').length === 2)
  const withSql = shared.filter((file) =>
    /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b/.test(readFileSync(join(root, file), 'utf8')),
  )

  expect(shared).toContain('store/ports.ts')
  expect(withSql).toEqual([])
})

test('each query is written once, and outside the stores, nothing contains SQL', () => {
  const writing = files.filter((file) =>
    /\b(SELECT\b[^']*\bFROM|INSERT INTO|DELETE FROM)\b/.test(readFileSync(join(root, file), 'utf8')),
  )
  const folders = [...new Set(writing.map((file) => file.split('/').slice(0, -1).join('/')))]

  expect(folders.sort()).toEqual(['store/queries', 'store/search', 'store/sqlite', 'store/writing'])
  expect(files.filter((file) => /store\/sqlite\/queries/.test(file))).toEqual([])
})
