import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { install, pack } from '../../../scripts/install-packed.mjs'
import { REPOSITORY, run, runTool } from '../../../test/package/project.ts'

export { REPOSITORY, run, runTool }

/** A project of a user, with the packed collector installed. */
export interface Project {
  folder: string
  tarball: string
  /** Paths of the files in the tarball. */
  files: string[]
  write(name: string, text: string): string
  remove(): void
}

export function createProject(): Project {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trackpost-collector-package-')))
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const tarball = pack('collector', folder)
    install(folder, tarball)
    return { folder, tarball: tarball.path, files: tarball.files, write, remove }
  } catch (cause) {
    remove()
    throw cause
  }
}

/** Links a package into the project, as if the user had installed it. */
export function link(project: Project, name: string): void {
  mkdirSync(join(project.folder, 'node_modules', name, '..'), { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules', name), join(project.folder, 'node_modules', name))
}
