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

/** The proof of rows that no title names: a test file, and a part of a test title in that file. */
const PROVED: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  F10: [
    [
      'test/core/simulation.sized.test.ts',
      'an outage costs 8 requests in its first minute, 6 in each later one, and no event',
    ],
  ],
  F33: [
    [
      'test/http/waits.test.ts',
      'F148: of 200 clients with the same wait of 60 s, at most a quarter comes back',
    ],
  ],
  F46: [
    ['test/core/conclude.test.ts', 'the events go back where they came from, and one request goes first'],
  ],
  F47: [['test/core/conclude.test.ts', 'without a stated wait, as long as the backoff, which grows']],
  F48: [['test/core/simulation.sized.test.ts', '429 from a bucket of 5 a second']],
  F49: [['test/core/simulation.sized.test.ts', '429 from a bucket of 0.5 a second']],
  F50: [['test/http/verdict.test.ts', 'a 2xx states none']],
  F60: [['test/auth/tokens.test.ts', 'is corrected by the Date of a refusal, and stays so']],
  F86: [
    [
      'test/serverless/serverless.test.ts',
      'a process that is killed as soon as an invocation has ended has delivered its events',
    ],
  ],
  F123: [
    ['collector/test/front.test.ts', 'a front answers 503 with Retry-After when its events cannot be kept'],
  ],
  F124: [['collector/test/cli.test.ts', 'on SIGTERM, the request in flight is finished']],
  F151: [
    ['collector/test/message.test.ts', 'an item with a number that a double does not hold has a warning'],
  ],
  F140: [['test/core/simulation.sized.test.ts', 'up to two bad events a second, at 200 a second']],
  F141: [
    [
      'test/core/simulation.sized.test.ts',
      'bad events, a rate limit and an outage at once leave nothing behind',
    ],
  ],
  F142: [
    ['test/core/simulation.sized.test.ts', '400 for 1 %'],
    [
      'test/core/simulation.sized.test.ts',
      'where everything is refused from the start, events end soon and requests are few',
    ],
  ],
  F143: [['test/core/simulation.sized.test.ts', '429 from a bucket of 0.5 a second']],
  F144: [
    ['test/core/simulation.sized.test.ts', 'who waits is told within 11 s'],
    ['test/core/simulation.sized.test.ts', 'who waits is told within 20 s where the service hangs'],
  ],
  S01: [
    ['test/auth/end-to-end.test.ts', 'by errors, events, inspection and JSON, whatever the servers answer'],
  ],
  S04: [['test/auth/end-to-end.test.ts', 'by errors, events, inspection and JSON']],
  S03: [['test/auth/end-to-end.test.ts', 'by errors, events, inspection and JSON']],
  S05: [
    ['test/settings/private-key.test.ts', 'a key that is accepted'],
    ['test/auth/assertion.test.ts', 'an external signer names its algorithm and its key'],
  ],
  S06: [
    ['collector/test/oauth.test.ts', 'an assertion with alg none, with HS256 and the public key as secret'],
  ],
  S07: [
    ['test/auth/assertion.test.ts', 'iat and exp are integers, at most 60 s apart'],
    ['test/auth/assertion.test.ts', 'have the same id, and each id is a UUID'],
  ],
  S08: [['test/auth/tokens.test.ts', 'aborts a request in flight, forgets the token and leaves no timer']],
  S09: [
    [
      'test/auth/end-to-end.test.ts',
      'cannot redirect the request, and nothing is sent to the target of the redirect',
    ],
  ],
  S10: [['test/auth/end-to-end.test.ts', "two clients never use each other's token"]],
  S11: [['test/auth/end-to-end.test.ts', 'tokens over plain http']],
  S22: [['test/settings/private-key.test.ts', 'hostile text takes time in proportion to its length']],
  S23: [['test/settings/private-key.test.ts', 'a key whose DER is cut off is always refused']],
  S25: [
    [
      'test/client/bounds.test.ts',
      'F70: of events of 32 KB, exactly those are accepted that fit into maxQueueBytes',
    ],
  ],
  S30: [
    ['test/spool/journal.test.ts', 'is for the eyes of its owner alone'],
    ['test/spool/journal.test.ts', 'a folder that was opened to others is not written to any more'],
  ],
  S31: [['test/spool/journal.test.ts', 'other files in the folder are left alone']],
  S33: [['test/spool/journal.test.ts', 'is not sent again once all of its file have one']],
  S37: [['test/package/contents.full.test.ts', 'nothing runs when the package is installed']],
  S40: [
    ['test/package/contents.full.test.ts', 'the tarball holds these files and no others'],
    ['test/package/contents.full.test.ts', 'no file in the tarball contains the path where it was built'],
  ],
  S41: [['test/package/reproducible.night.test.ts', 'a second build in another folder gives the same files']],
  S43: [['test/package/sbom.full.test.ts', 'S43']],
  S46: [['collector/test/hostile.test.ts', 'a public address is refused unless it is allowed']],
  S47: [['collector/test/oauth.test.ts', 'F114']],
  S48: [
    ['collector/test/hostile.test.ts', 'headers over 16 KB get 431'],
    ['collector/test/hostile.test.ts', 'slow headers get 408 at the header time limit'],
    ['collector/test/hostile.test.ts', 'connections over the limit are dropped'],
  ],
  S49: [
    ['collector/test/hostile.test.ts', 'every response forbids sniffing, and input is returned only as JSON'],
  ],
  S50: [['collector/test/oauth.test.ts', 'an assertion can be used only once, even by parallel requests']],
}

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

test('every proof of PROVED is a test', () => {
  const proofs = Object.entries(PROVED).flatMap(([row, tests]) => tests.map((one) => [row, ...one]))

  expect(proofs.filter(([, file = '', title = '']) => !codeOf(file).includes(title))).toEqual([])
})

test('each row of test/faults/README.md is in the title of a test, or in PROVED', () => {
  const rows = [...read('test/faults/README.md').matchAll(/^\| ([FBS]\d+) \|/gm)].map(([, row]) => row ?? '')
  const named = new Set(Object.keys(PROVED))
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
