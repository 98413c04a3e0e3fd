import { test } from 'vitest'
import { findProgram } from './find-program.ts'

/** Where `promtool` is; tests that need it are skipped without one. */
export const promtool = findProgram('promtool', 'PROMTOOL', ['/usr/local/bin'])

/** `test`, or `test.skip` where there is no promtool: the count of skipped tests then says so. */
export const promtoolTest = promtool === undefined ? test.skip : test
