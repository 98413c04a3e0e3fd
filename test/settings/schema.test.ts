import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { publicSettings, resolveSettings } from '../../src/settings/resolve.ts'
import { OAUTH_SETTINGS, type Rule, SETTINGS } from '../../src/settings/schema.ts'
import type { PublicSettings } from '../../src/settings/settings.ts'

const folder = fileURLToPath(new URL('../../src/settings/', import.meta.url))
const settings = readFileSync(`${folder}settings.ts`, 'utf8')

/** The docstring of each member of an interface, on one line. */
function docstrings(interfaceName: string): Map<string, string> {
  const source = ts.createSourceFile('source.ts', settings, ts.ScriptTarget.ES2022, true)
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
  ['AnalyticsSettings', SETTINGS],
  ['OAuthSettings', OAUTH_SETTINGS],
] as const)('the docstrings of %s', (name, table) => {
  const documented = docstrings(name)

  test('exist for each setting', () => {
    const names = [...documented].filter(([, text]) => text !== '').map(([setting]) => setting)

    expect(names.sort()).toEqual(Object.keys(table).sort())
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
  const expected = Object.keys(SETTINGS).filter((name) => !hidden.includes(name))

  const shown: PublicSettings = publicSettings(resolveSettings({ writeKey: 'wk_Zurich_7Qm4' }))

  expect(Object.keys(shown).sort()).toEqual(expected.sort())
})
