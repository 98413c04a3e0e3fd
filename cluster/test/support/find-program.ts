import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * @param variable Environment variable that can contain the path. If this path is wrong, no folder is searched.
 * @param folders Folders that are searched after those of `PATH`.
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
