// Runs unit tests on sources that contain all mutants of the sample. For each message `{ number, files }`, activates the mutant
// `number`, runs the test files `files`, and replies with `{ failed, errors, messages, tookMs }`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createVitest } from 'vitest/node'
import { withMutants } from './mutants.mjs'

const { ROOT, MUTATION_FOLDER: folder } = process.env
/** By source file: the number of each of its mutants, or `null` if the mutant is not in the sample. */
const numbers = JSON.parse(readFileSync(join(folder, 'numbers.json'), 'utf8'))

const sleeping = {
  name: 'sleeping-mutants',
  enforce: 'pre',
  transform(code, id) {
    const file = relative(ROOT, id.split('?')[0])
    const ofFile = numbers[file]
    return ofFile === undefined
      ? undefined
      : { code: withMutants(id, code, (index) => ofFile[index] ?? undefined) }
  },
}

const vitest = await createVitest(
  'test',
  {
    config: false,
    root: ROOT,
    watch: false,
    reporters: [{}],
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed.ts', 'scripts/mutation/setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 100_000,
    env: { MUTATION_FOLDER: folder },
  },
  { plugins: [sleeping], logLevel: 'silent' },
)
await vitest.standalone?.()

process.on('message', async ({ number, files }) => {
  writeFileSync(join(folder, 'active'), String(number))
  vitest.config.bail = number === 0 ? 0 : 1
  const specifications = (await vitest.globTestSpecifications()).filter(({ moduleId }) =>
    files.includes(moduleId),
  )
  const run = async () => {
    // Otherwise, a file that failed in an earlier run would still count as failed if it does not run now.
    vitest.state.filesMap.clear()
    vitest.state.idMap.clear()
    return vitest.runTestSpecifications(specifications, false)
  }
  let { testModules, unhandledErrors } = await run()
  // An earlier run that was cancelled after its first failure can also cancel this run. The tests are then run again.
  const ran = testModules.filter(
    (one) => [...one.children.allTests('passed'), ...one.children.allTests('failed')].length > 0,
  )
  if (ran.length < files.length && testModules.every((one) => one.state() !== 'failed')) {
    ;({ testModules, unhandledErrors } = await run())
  }
  const failed = testModules.filter((one) => !one.ok()).map(({ moduleId }) => relative(ROOT, moduleId))
  const tookMs = testModules.map((one) => {
    const { setupDuration, collectDuration, duration } = one.diagnostic()
    return [relative(ROOT, one.moduleId), setupDuration + collectDuration + duration]
  })
  const messages = testModules.flatMap((one) => [
    ...one.errors().map(({ message }) => message),
    ...[...one.children.allTests('failed')].map(
      (test) => `${test.fullName}: ${test.result().errors[0]?.message}`,
    ),
  ])
  process.send({ failed, errors: unhandledErrors.length, messages, tookMs: Object.fromEntries(tookMs) })
})
process.send({ isReady: true })
