import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * The path of a program; undefined where there is none.
 *
 * @param variable Environment variable with its path. A path that is wrong is no reason to take another.
 * @param folders Searched after those of `PATH`.
 */
export function findProgram(name: string, variable: string, folders: readonly string[]): string | undefined {
  const given = process.env[variable]
  const all = [...(process.env['PATH'] ?? '').split(delimiter), ...folders]
  const candidates = given ? [given] : all.map((folder) => join(folder, name))
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
