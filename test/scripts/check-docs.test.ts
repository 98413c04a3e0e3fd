import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { brokenReference, checkDocs } from '../../scripts/check-docs.mjs'

const BLOB = 'https://github.com/trackpost/trackpost/blob/main'

describe('references', () => {
  test.each([
    'RFC 9110, section 10.2.3',
    'https://nodejs.org/api/events.html',
    `${BLOB}/docs/spec.md`,
    `${BLOB}/docs/spec.md#8-what-the-client-does-about-a-response`,
    `${BLOB}/docs/settings.md#disable`,
  ])('%s has a target', (reference) => {
    expect(brokenReference(reference)).toBeUndefined()
  })

  test.each([
    ['spec.md, section 6', 'it is neither an RFC nor a URL'],
    [`${BLOB}/docs/nothing.md`, 'docs/nothing.md does not exist'],
    [`${BLOB}/docs/spec.md#12-nothing`, 'docs/spec.md has no heading #12-nothing'],
  ])('%s has no target', (reference, reason) => {
    expect(brokenReference(reference)).toBe(reason)
  })
})

// The TypeScript compiler takes some time on a busy machine.
describe('declarations', { timeout: 60_000 }, () => {
  const DECLARATIONS = `
    interface Inherited {
      /** Written at the interface. */
      told(): void
    }
    export class Bare implements Inherited {
      constructor()
      told(): void
      #hidden
      private secret
      size: number
    }
    /** Documented. @see ${BLOB}/docs/spec.md#12-nothing */
    export interface Options {
      /** Yes. */
      yes?: boolean
      no?: boolean
      [key: string]: unknown
    }
    /** Documented. */
    export type Params =
      | (Options & {
          /** Yes. */
          event: string
          also: string
        })
      | {
          third: string
        }
    /** @deprecated Use Options. */
    export type Old = Options
    export declare const bare: number
    /** Documented twice. */
    export declare function call(a: string): void
    export declare function call(a: number): void
    interface NotExported { member: string }
    export { type NotExported as Renamed }
  `
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'trackpost-docs-'))
    writeFileSync(join(folder, 'index.d.ts'), DECLARATIONS)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('lists every name and member without a docstring, and every reference without a target', () => {
    const { problems } = checkDocs([join(folder, 'index.d.ts')])

    expect(problems.sort()).toEqual([
      'Bare.constructor: no docstring',
      'Bare.size: no docstring',
      'Bare: no docstring',
      'Options.[key]: no docstring',
      'Options.no: no docstring',
      `Options: @see ${BLOB}/docs/spec.md#12-nothing: docs/spec.md has no heading #12-nothing`,
      'Params.also: no docstring',
      'Params.third: no docstring',
      'Renamed.member: no docstring',
      'Renamed: no docstring',
      'bare: no docstring',
    ])
  })

  test('a missing file is an error', () => {
    expect(() => checkDocs([join(folder, 'missing.d.ts')])).toThrow()
  })
})
