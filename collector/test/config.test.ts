import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import { Sources } from '../src/auth/sources.ts'
import type { ConfigInput } from '../src/config/config.ts'
import { DEFAULT_CONFIG } from '../src/config/defaults.ts'
import { loadConfig, parseConfig } from '../src/config/load.ts'
import type { configSchema } from '../src/config/schema.ts'
import { newFolder } from './support/process.ts'

test('the exported types match the schema', () => {
  expectTypeOf<ConfigInput>().branded.toEqualTypeOf<z.input<typeof configSchema>>()
})

test('an empty config has the same effect as no config', () => {
  expect(DEFAULT_CONFIG).toEqual(parseConfig({}, 'config'))
})

test.each([
  [{ rate: 0 }, /rate/],
  [{ sorces: [] }, /sorces/],
  [{ browserOrigins: ['https://shop.example/'] }, /browserOrigins\.0: expected an origin/],
  [{ trustedProxies: ['10.0.0.0/33'] }, /trustedProxies\.0/],
  [{ sources: [{ name: 'a', writeKey: ['k', 'l', 'm'] }] }, /sources\.0\.writeKey/],
  [{ sources: [{ name: 'a' }] }, /sources\.0: expected exactly one of writeKey and writeKeySha256/],
  [
    {
      sources: [
        { name: 'a', writeKey: 'x' },
        { name: 'a', writeKey: 'y' },
      ],
    },
    /"a" is used twice/,
  ],
  [{ sources: [{ name: 'a', writeKey: 'x', destinations: ['B'] }] }, /no destination is named "B"/],
  [{ rejectUnknownKeys: true }, /rejectUnknownKeys: needs sources/],
  [{ destinations: [{ name: 'A', type: 'webhook', url: 'file:///etc/passwd' }] }, /destinations\.0\.url/],
  [null, /expected object/],
])('%j is refused, and the error names the wrong setting', (config, message) => {
  expect(() => parseConfig(config, 'my.json')).toThrow(message)
  expect(() => parseConfig(config, 'my.json')).toThrow(/^my\.json: /)
})

test.each([
  ['is missing', undefined, 'cannot be read (ENOENT)'],
  ['is not JSON', '{ "rate": 5,\n\n oops', 'not JSON'],
])('a config file that %s is refused', (_what, text, message) => {
  const path = join(newFolder(), 'config.json')
  if (text !== undefined) writeFileSync(path, text)

  expect(() => loadConfig(path)).toThrow(`${path}: ${message}`)
})

test('paths in a config file are relative to its folder', () => {
  const folder = newFolder()
  const path = join(folder, 'config.json')
  writeFileSync(path, JSON.stringify({ destinations: [{ name: 'A', type: 'file', path: 'out/a.ndjson' }] }))

  expect(loadConfig(path).destinations).toMatchObject([{ path: join(folder, 'out/a.ndjson') }])
})

test('a source may have two write keys, plain or hashed, so that one can be replaced', () => {
  const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
  const config = {
    sources: [
      { name: 'web', writeKey: ['old', 'new'] },
      { name: 'app', writeKeySha256: [hash, hash.replace('9f', '00')] },
    ],
  }
  const sources = new Sources(parseConfig(config, 'config'))

  expect(['old', 'new', 'test', 'other'].map((key) => sources.find(key)?.name)).toEqual([
    'web',
    'web',
    'app',
    undefined,
  ])
})
