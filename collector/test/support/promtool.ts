import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'vitest'

/** The program; undefined where there is none. A PROMTOOL that is wrong is no reason to take another. */
function findPromtool(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const given = env['PROMTOOL']
  const folders = [...(env['PATH'] ?? '').split(delimiter), '/usr/local/bin']
  const candidates = given ? [given] : folders.map((folder) => join(folder, 'promtool'))
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Where `promtool` is; tests that need it are skipped without one. */
export const promtool = findPromtool()

/** `test`, or `test.skip` where there is no promtool: the count of skipped tests then says so. */
export const promtoolTest = promtool === undefined ? test.skip : test
