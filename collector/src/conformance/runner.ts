/** Functions of Vitest: `describeStore(vitest, ...)` after `import * as vitest from 'vitest'`. */
export type Runner = Pick<typeof import('vitest'), 'expect' | 'onTestFinished' | 'test'>
