import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${repository}${path}`, 'utf8')

/** Files under version control, and new ones; `files` are those with text. */
const all = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: repository,
  encoding: 'utf8',
}).split('\n')
const files = all
  .filter((path) => /\.(?:tsx?|mts|mjs|cjs|js|md|sh|ya?ml)$/.test(path) && path !== 'test/faults/README.md')
  .filter((path) => {
    try {
      return read(path) !== ''
    } catch {
      return false // the file was deleted in the working copy
    }
  })

function mentions(pattern: RegExp): { path: string; groups: string[] }[] {
  return files.flatMap((path) =>
    [...read(path).matchAll(pattern)].map((match) => ({ path, groups: match.slice(1) })),
  )
}

describe('test/faults/README.md', () => {
  const rows = [...read('test/faults/README.md').matchAll(/^\| ([FBS]\d+) \|/gm)].map(([, row]) => row ?? '')

  test('contains each row once', () => {
    expect(rows.length).toBeGreaterThan(200)
    expect(new Set(rows).size).toBe(rows.length)
  })

  test('contains every row that code, tests and documents mention', () => {
    const named = mentions(/(?<![\w#/+-])([FBS]\d{2,3})(?![\w/+-]|\.\w)/g)
    const unknown = named
      .filter(({ groups: [row] }) => !rows.includes(row ?? ''))
      .map(({ path, groups: [row] }) => `${path}: ${row}`)

    expect(named.length).toBeGreaterThan(250)
    expect(unknown).toEqual([])
  })

  test('contains every section that code, tests and documents mention', () => {
    const sections = [...read('test/faults/README.md').matchAll(/^#{2,3} (\d(?:\.\d)?)/gm)].map(
      ([, one]) => one,
    )
    const named = mentions(/faults\/README\.md, section (\d(?:\.\d)?)/g)

    expect(named.length).toBeGreaterThan(0)
    expect(named.filter(({ groups: [section] }) => !sections.includes(section))).toEqual([])
  })
})

describe('docs/spec.md', () => {
  const sections = [...read('docs/spec.md').matchAll(/^## (\d+)\. /gm)].map(([, section]) => section)

  test('contains every section that code, tests and documents mention', () => {
    const named = mentions(
      /\bspec(?:ification)?(?:\.md)?(?:\]\([^)]*\))?,?\s+(?:\*\s+)?sections?\s+(\d+)(?:\s+and\s+(\d+))?/g,
    ).flatMap(({ path, groups }) =>
      groups.filter((one) => one !== undefined).map((section) => ({ path, section })),
    )

    expect(named.length).toBeGreaterThan(10)
    expect(named.filter(({ section }) => !sections.includes(section))).toEqual([])
  })
})

/** The anchors that GitHub gives to headings. */
function anchorsOf(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

describe('links between the documents', () => {
  const documents = files.filter((path) => path.endsWith('.md'))

  test.each(documents)('%s: the target of every relative link and anchor exists', (path) => {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : ''
    const links = [...read(path).matchAll(/\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g)]
    const broken = links.filter(([, target = '', anchor]) => {
      const found = target === '' ? path : new URL(target, `file:///${folder}`).pathname.slice(1)
      const isThere = all.some((one) => one === found || one.startsWith(`${found.replace(/\/$/, '')}/`))
      return !isThere || (anchor !== undefined && !anchorsOf(found).includes(anchor))
    })

    expect(broken.map(([link]) => link)).toEqual([])
  })
})

test('every page and heading of this repository that a docstring links to exists', () => {
  const links = mentions(/https:\/\/github\.com\/trackpost\/trackpost\/blob\/main\/([\w./-]+)(?:#([\w-]+))?/g)
  const broken = links.filter(
    ({ groups: [target = '', anchor] }) =>
      !existsSync(`${repository}${target}`) || (anchor !== undefined && !anchorsOf(target).includes(anchor)),
  )

  expect(links.length).toBeGreaterThan(0)
  expect(broken).toEqual([])
})

test('every npm script that a document names exists in the package that it is run in', () => {
  const scriptsOf = (folder: string): string[] =>
    Object.keys(JSON.parse(read(`${folder}package.json`)).scripts)
  const folders: Record<string, string> = {
    'trackpost-collector': 'collector/',
    'trackpost-cluster': 'cluster/',
    'trackpost-cli': 'cli/',
  }
  const named = mentions(/npm run ([a-z][\w:-]*)(?: (?:-w|--workspace)[ =]([\w-]+))?/g).filter(
    ({ path }) => path.endsWith('.md') && !/^docs\/migration|CHANGELOG/.test(path),
  )

  const unknown = named.filter(({ groups: [script = '', workspace] }) => {
    const folder = workspace === undefined ? '' : folders[workspace]
    return folder === undefined || !scriptsOf(folder).includes(script)
  })

  expect(named.length).toBeGreaterThan(20)
  expect(unknown).toEqual([])
})
