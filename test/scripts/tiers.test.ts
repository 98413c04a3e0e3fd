import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { BOTH_FILES, FULL_FILES, FULL_ROWS, FULL_STEPS, LONG_FILES } from '../../scripts/tiers.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const script = readFileSync(join(ROOT, 'scripts/test.mjs'), 'utf8')
const paths = [...Object.values(FULL_FILES), ...Object.values(BOTH_FILES)].flat()

/** The file patterns that a vitest project runs in one form of `npm test`: `+` is included, `-` is excluded. */
function filesOf(tier: string): string[] {
  const program = `
    import { filesOfTier } from ${JSON.stringify(new URL('../../scripts/tiers.mjs', import.meta.url).href)}
    const project = { include: ['test/**/*.test.ts'], below: 'cluster/', root: 'cluster/' }
    console.log(JSON.stringify(filesOfTier(project)))`
  const env = { ...process.env, TEST_TIER: tier }
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { env })
  const { include, exclude } = JSON.parse(String(printed)) as { include: string[]; exclude: string[] }
  return [...include.map((path) => `+${path}`), ...exclude.map((path) => `-${path}`)]
}

describe('the two forms of npm test', () => {
  test.each(paths)('%s exists', (path) => {
    expect(existsSync(join(ROOT, path))).toBe(true)
  })

  test.each(Object.keys(FULL_STEPS))('%s is a step of only the full form', (step) => {
    const quoted = step.includes(':') ? `'${step}'` : step
    expect(script).toMatch(new RegExp(`\\n  ${quoted}: \\{[^}]*inFull: true`))
  })

  test.each(FULL_ROWS)('%s is a row of the fault suite', (id) => {
    const folder = join(ROOT, 'test/faults')
    const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'))
    expect(files.some((name) => readFileSync(join(folder, name), 'utf8').includes(`'${id}'`))).toBe(true)
  })

  test('the default form starts no browser', () => {
    const tests = execFileSync('git', ['ls-files', 'collector/test/*.test.ts', 'cluster/test/*.test.ts'], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    const withBrowser = tests
      .split('\n')
      .filter(
        (path) => path !== '' && /from '[./]*\/browser\.ts'/.test(readFileSync(join(ROOT, path), 'utf8')),
      )

    expect(withBrowser.length).toBeGreaterThan(5)
    expect(withBrowser.filter((path) => !paths.includes(path))).toEqual([])
  })

  test.each(LONG_FILES)('%s is left out by the default form, and listed in FULL_FILES', (path) => {
    expect(
      Object.values(FULL_FILES)
        .flat()
        .some((one) => path.startsWith(one)),
    ).toBe(true)
  })

  test('the default form, the rest and the long files add up to the full form', () => {
    const path = 'test/clickhouse/clickhouse.test.ts'

    expect(filesOf('full')).toEqual(['+test/**/*.test.ts'])
    expect(filesOf('default')).toEqual(expect.arrayContaining(['+test/**/*.test.ts', `-${path}`]))
    expect(filesOf('default')).toContain('-test/cluster/**/*.test.ts')
    expect(filesOf('rest')).toEqual(expect.arrayContaining([`+${path}`, '-test/cluster/**/*.test.ts']))
    expect(filesOf('rest').filter((one) => one.startsWith('-')).length).toBe(
      LONG_FILES.filter((one) => one.startsWith('cluster/')).length,
    )
    const excluded = filesOf('default').filter((one) => one.startsWith('-'))
    const run = filesOf('rest').map((one) => one.slice(1))
    for (const one of excluded) expect(run).toContain(one.slice(1))
  })
})
