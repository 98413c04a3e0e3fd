import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }

const repository = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${repository}${path}`, 'utf8')
/** Without comments, which prove nothing. */
const codeOf = (path: string): string => read(path).replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
const filesBelow = (...folders: string[]): string[] =>
  execFileSync('git', ['ls-files', ...folders], { cwd: repository, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(`${repository}${path}`))

test.each(filesBelow('*package-lock.json'))(
  '%s has a checksum for every package, and names no registry',
  (path) => {
    const { packages } = JSON.parse(read(path)) as {
      packages: Record<string, { integrity?: string; link?: boolean; resolved?: string }>
    }
    const installed = Object.entries(packages).filter(
      ([name, { link }]) => name.includes('node_modules/') && link !== true,
    )

    expect(installed.length).toBeGreaterThan(4)
    expect(installed.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true)).toEqual([])
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  },
)

test('each row of test/faults/README.md is in the title of a test', () => {
  const rows = [...read('test/faults/README.md').matchAll(/^\| ([FBS]\d+) \|/gm)].map(([, row]) => row ?? '')
  const named = new Set<string>()
  const pattern =
    /(?<![\w#/+-])([FBS])(\d{2,3})(?:(?:\s?[-–]\s?|\s(?:to|through)\s)\1?(\d{2,3}))?(?![\w/+-]|\.\w)/g
  const tests = filesBelow('test', 'collector/test', 'cluster/test', 'cli/test').filter((path) =>
    /\.test\.ts$|message\/bad-input\.ts$/.test(path),
  )
  for (const [, kind, first, last = first] of tests.map(codeOf).join('\n').matchAll(pattern)) {
    for (let n = Number(first); n <= Number(last); n++) named.add(`${kind}${String(n).padStart(2, '0')}`)
  }

  expect(rows.length).toBeGreaterThan(230)
  // F19: the SDK has no proxy setting; a proxy belongs to the `httpClient` of the user, and a 407 is a status like any other.
  expect(rows.filter((row) => !named.has(row) && row !== 'F19')).toEqual([])
})

describe('the sources of what users install', () => {
  const sources = filesBelow('src', 'collector/src', 'cluster/src', 'cli/src').filter((path) =>
    path.endsWith('.ts'),
  )
  const withText = (pattern: RegExp): string[] => sources.filter((path) => pattern.test(read(path)))

  test('the client calls no built-in function that Node.js 16.0 lacks', () => {
    const newer = /\.at\(|\.findLast|\.toSorted\(|\.toReversed\(|\.hasIndices|Object\.(?:hasOwn|groupBy)\(|structuredClone\(|Array\.fromAsync|Promise\.withResolvers|AbortSignal\.(?:timeout|any|abort)\(/ // biome-ignore format: one pattern
    const files = sources.filter((path) => path.startsWith('src/'))

    expect(files.length).toBeGreaterThan(80)
    expect(files.filter((path) => newer.test(read(path)))).toEqual([])
  })

  test('S12: no setting turns off the check of certificates', () => {
    expect(sources.length).toBeGreaterThan(300)
    expect(withText(/rejectUnauthorized|NODE_TLS_REJECT_UNAUTHORIZED|checkServerIdentity/)).toEqual([])
  })

  test('S19: the SDK does not read proxies from the environment', () => {
    const ofSDK = filesBelow('src').filter((path) => path.endsWith('.ts'))
    expect(ofSDK.filter((path) => /(?:https?|no|all)_proxy/i.test(read(path)))).toEqual([])
  })

  test('S28: the SDK evaluates no text and starts no process', () => {
    const ofSDK = filesBelow('src').filter((path) => path.endsWith('.ts'))
    const pattern = /\beval\(|new Function\(|\bFunction\(['"`]|child_process|process\.dlopen/
    expect(ofSDK.filter((path) => pattern.test(read(path)))).toEqual([])
  })

  test('S29: Math.random varies waits, and never makes an id', () => {
    expect(withText(/Math\.random/).sort()).toEqual(['collector/src/system-clock.ts', 'src/runtime/clock.ts'])
  })

  test('S36: CONTRIBUTING.md says what each package is for that the SDK bundles', () => {
    const reasons = read('CONTRIBUTING.md').split('## Dependencies')[1] ?? ''
    const sources = withText(/./).filter((path) => path.startsWith('src/'))
    const imported = sources.flatMap((path) => [
      ...read(path).matchAll(/^import (?!type)[^']*'(?!node:|\.)((?:@[^/']+\/)?[^/']+)/gm),
    ])
    const names = [...new Set(imported.map(([, name]) => name as string))].filter(
      (name) => !(name in manifest.peerDependencies),
    )

    // The SDK bundles these packages, so npm installs no dependency with it.
    expect(manifest).not.toHaveProperty('dependencies')
    expect(names.sort()).toEqual(['@lukeed/uuid', 'dset', 'jose'])
    for (const name of names) expect(reasons).toMatch(new RegExp(`\`${name}\`\\s\\(`))
  })
})
