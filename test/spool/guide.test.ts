import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(`${repository}${path}`, 'utf8')

/** A test that proves a promise: its file, and a part of its title. */
type Proof = readonly [file: string, title: string]

const DEATHS = 'test/spool/proof/deaths.test.ts'
const FAULTS = 'test/spool/faults.test.ts'
const EXITS = 'test/runtimes/spool.test.ts'
const IN_EACH_MODE: Proof = [DEATHS, "with sync: '%s', the death of a process loses nothing"]
const POWER_CUTS: Proof = [
  'test/spool/proof/power-cuts.test.ts',
  'safe messages are read again, once and complete',
]
const POWER_CUT: Proof = [FAULTS, "with sync: '%s', synced events are read"]

/** The columns of the guide's first table: one for each mode of `sync`. */
const MODES = ["`sync: 'never'`", "`'interval'` (default)", "`'always'`"]
const BY_MODE: Readonly<Record<string, readonly (readonly Proof[])[]>> = {
  SIGKILL: [[IN_EACH_MODE], [IN_EACH_MODE, [DEATHS, 'no stored event is lost in']], [IN_EACH_MODE]],
  'an uncaught exception': [[IN_EACH_MODE], [IN_EACH_MODE], [IN_EACH_MODE]],
  '`process.exit()`': [[IN_EACH_MODE], [IN_EACH_MODE], [IN_EACH_MODE]],
  'out of memory': [[IN_EACH_MODE], [IN_EACH_MODE], [IN_EACH_MODE]],
  'a terminated worker thread': [
    [IN_EACH_MODE],
    [IN_EACH_MODE],
    [IN_EACH_MODE, [EXITS, 'events of a terminated thread are adopted while its process lives']],
  ],
  'power cut': [[POWER_CUT], [POWER_CUT, POWER_CUTS], [POWER_CUT, POWER_CUTS]],
  'kernel crash': [[POWER_CUT], [POWER_CUT, POWER_CUTS], [POWER_CUT, POWER_CUTS]],
  'work for the disk': [
    [['test/spool/file-spool.test.ts', 'writes once in a turn, even with awaits in it']],
    [[FAULTS, "with sync: 'interval', files are synced twice a second"]],
    [[FAULTS, 'a slow disk does not block a call, and concurrent calls share one sync']],
  ],
}

/** The promises that hold in every mode. */
const WHATEVER: Readonly<Record<string, readonly Proof[]>> = {
  'a call from a listener of `exit`': [
    [EXITS, 'events from exit listeners are kept, also from listeners that were added before the client'],
  ],
  '`fsync` is denied, for example by the permission model of Node.js': [
    [EXITS, 'SIGKILL loses nothing; denied operations are reported once'],
    [
      'test/spool/disk-faults.test.ts',
      'does not stop writes, is reported once, and makes stored() resolve to false',
    ],
  ],
  'the disk is full, or fails': [
    [FAULTS, 'lets events wait in memory with one warning, and gets them when there is room'],
    [FAULTS, 'lets a limited number of events wait in memory'],
  ],
  'a damaged file': [
    [FAULTS, 'every byte of a record changed: those before and after it are read'],
    [FAULTS, 'cut at every byte of the last record: the others are read'],
  ],
  'a file of a later version of this library': [[FAULTS, 'a file of a later version is left alone']],
  "another user's files in the directory": [
    ['test/spool/file-spool.test.ts', 'are neither sent nor changed, and reported once'],
    ['test/spool/file-spool.test.ts', 'of another user (the test runs only as root)'],
  ],
  'a backlog of a month': [[DEATHS, 'a backlog of a month is delivered unchanged']],
}

/** A table is a list of rows, and a row is a list of cells. The first row has the headings. */
function tablesOf(section: string): string[][][] {
  return section
    .split(/\n\n+/)
    .filter((block) => block.startsWith('|'))
    .map((block) =>
      block
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('|---'))
        .map((line) => line.slice(2, -2).split(' | ')),
    )
}

describe('the promises about the spool in the guide', () => {
  const section = read('docs/spool.md').split('## What is promised')[1]?.split('\n## ')[0] ?? ''
  const [byMode = [], whatever = []] = tablesOf(section)

  test('each have a test here, and every test here belongs to a promise', () => {
    const [heading = [], ...rows] = byMode
    const causes = rows.flatMap(([cause = '']) => cause.split(', '))

    expect(heading.slice(1)).toEqual(MODES)
    expect(Object.keys(BY_MODE)).toEqual(causes)
    expect(Object.keys(WHATEVER)).toEqual(whatever.slice(1).map(([cause]) => cause))
    for (const proofs of Object.values(BY_MODE)) expect(proofs).toHaveLength(MODES.length)
  })

  const proofs = [...Object.values(BY_MODE).flat(2), ...Object.values(WHATEVER).flat()]
  test.each([...new Map(proofs.map((proof) => [String(proof), proof])).values()])('%s: %s', (file, title) => {
    expect(read(file)).toContain(title)
  })

  test("are tested in each mode by the tests with sync: '%s' in the title", () => {
    expect(read(DEATHS)).toContain("test.each(['never', 'interval', 'always'])")
    for (const mode of ['never', 'interval', 'always']) expect(read(FAULTS)).toContain(`['${mode}', [`)
  })
})
