import { test } from 'vitest'
import { findProgram } from './find-program.ts'

export const promtool = findProgram('promtool', 'PROMTOOL', ['/usr/local/bin'])

/** `test`, or `test.skip` without promtool, so that the tests count as skipped. */
export const promtoolTest = promtool === undefined ? test.skip : test
