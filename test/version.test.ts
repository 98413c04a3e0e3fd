import { expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { VERSION } from '../src/version.ts'

test('the version in the code is the version of package.json', () => {
  expect(VERSION).toBe(manifest.version)
})
