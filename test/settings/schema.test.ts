import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { OAUTH_SETTINGS, type Rule, SETTINGS } from '../../src/settings/schema.ts'

const folder = fileURLToPath(new URL('../../src/settings/', import.meta.url))
const settings = readFileSync(`${folder}settings.ts`, 'utf8')
const schema = readFileSync(`${folder}schema.ts`, 'utf8')

/** The docstring of each member of an interface, on one line. */
function docstrings(interfaceName: string, text = settings): Map<string, string> {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.ES2022, true)
  const found = source.statements.find(
    (node): node is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(node) && node.name.text === interfaceName,
  )
  const members = found?.members ?? []
  return new Map(
    [...members].map((member) => {
      const comments = ts.getJSDocCommentsAndTags(member).map((comment) => comment.getText())
      return [member.name?.getText() ?? '', comments.join(' ').replace(/\s*\n\s*\*\s*/g, ' ')]
    }),
  )
}

const grouped = (value: number): string => value.toLocaleString('en-US')

/** The sentence about default and range that the docstring of a setting must contain. */
function expectation(rule: Rule): RegExp {
  if (rule.type !== 'integer') {
    const value = rule.type === 'choice' ? `'${rule.default}'` : rule.default
    return value === undefined ? /Default: (?!`)|Required\./ : new RegExp(`Default: \`${value}\``)
  }
  const fallback = Number.isFinite(rule.default) ? grouped(rule.default) : '[^;]+'
  return new RegExp(`Default: ${fallback}; ${grouped(rule.min)} to ${grouped(rule.max)} ${rule.unit}\\.`)
}

describe.each([
  ['AnalyticsSettings', SETTINGS, []],
  ['OAuthSettings', OAUTH_SETTINGS, []],
] as const)('the docstrings of %s', (name, table, others) => {
  const documented = docstrings(name)

  test('exist for each setting', () => {
    const names = [...documented].filter(([, text]) => text !== '').map(([setting]) => setting)

    expect(names.sort()).toEqual([...Object.keys(table), ...others].sort())
  })

  test.each(Object.entries(table))('contain the default, the range and the unit of %s', (setting, rule) => {
    expect(documented.get(setting)).toMatch(expectation(rule))
  })
})

test('PublicSettings contains every setting except secrets and functions', () => {
  const hidden = [
    'writeKey',
    'headers',
    'logger',
    'httpClient',
    'oauthSettings',
    'scope',
    'spool',
    'waitUntil',
  ]
  const shown = Object.keys(SETTINGS).filter((name) => !hidden.includes(name))

  expect([...docstrings('PublicSettings').keys()].sort()).toEqual(shown.sort())
})

/** The errors of the TypeScript compiler in src/settings if `settings.ts` and `schema.ts` had these texts. */
function complaints(types: string, table = schema): string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (name, version, ...rest) =>
    name.endsWith('settings/settings.ts')
      ? ts.createSourceFile(name, types, version)
      : name.endsWith('settings/schema.ts')
        ? ts.createSourceFile(name, table, version)
        : getSourceFile(name, version, ...rest)
  const program = ts.createProgram([`${folder}resolve.ts`], options, host)
  return program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(folder))
    .flatMap((file) => [...program.getSemanticDiagnostics(file)])
    .map(({ file, messageText }) => {
      const message = ts.flattenDiagnosticMessageText(messageText, ' ')
      return `${file?.fileName.slice(folder.length)}: ${message}`
    })
}

describe('a setting that is declared', () => {
  const declared = settings.replace(
    '  writeKey: string\n',
    '  writeKey: string\n  colour?: string | undefined\n',
  )

  test('compiles when it is in the table and resolved', { timeout: 60_000 }, () => {
    expect(complaints(settings)).toEqual([])
  })

  test('does not compile when it is neither in the table nor resolved', { timeout: 60_000 }, () => {
    const all = complaints(declared)

    expect(all).toHaveLength(2)
    expect(all[0]).toMatch(/^schema.ts: .*'colour' is missing/)
    expect(all[1]).toMatch(/^resolve.ts: .*'colour' is missing/)
  })

  test('does not compile when it is in the table but not resolved', { timeout: 60_000 }, () => {
    const inTable = schema.replace(
      "  writeKey: { type: 'string',",
      "  colour: { type: 'string', default: 'bleu' },\n  writeKey: { type: 'string',",
    )

    expect(complaints(declared, inTable)).toEqual([
      expect.stringMatching(/^resolve.ts: .*'colour' is missing/),
    ])
  })
})
