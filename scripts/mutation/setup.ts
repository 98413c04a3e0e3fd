import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'

/**
 * Runs before each test file. Activates the mutant whose number is in the file `active`. For the number 0, records which
 * mutants the test file reaches.
 */
const folder = process.env['MUTATION_FOLDER'] ?? ''
const active = Number(readFileSync(join(folder, 'active'), 'utf8'))
const reached = new Set<number>()

Object.assign(globalThis, {
  isMutant(number: number): boolean {
    if (active === 0) reached.add(number)
    return number === active
  },
})

afterAll(() => {
  if (active !== 0) return
  const { testPath = '' } = expect.getState()
  mkdirSync(join(folder, 'reached'), { recursive: true })
  const name = testPath.replaceAll(/[^\w]/g, '_')
  writeFileSync(join(folder, 'reached', `${name}.json`), JSON.stringify({ testPath, reached: [...reached] }))
})
