import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { REPOSITORY, run, runTool } from '../../../test/package/project.ts'

export { REPOSITORY, run, runTool }

export interface Packed {
  tarball: string
  /** Paths of the files in the tarball. */
  files: string[]
}

/** A project of a user, with the packed collector installed. */
export interface Project extends Packed {
  folder: string
  write(name: string, text: string): string
  remove(): void
}

/** With `--full`, the tests build and pack a copy of the package, as a release does. */
const packs = (folder: string) =>
  process.env['TEST_FULL'] === '1' ? packAsReleased(folder) : packBuilt(folder)

export async function createProject(): Promise<Project> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trackpost-collector-package-')))
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const { tarball, files } = await packs(folder)
    write('package.json', '{ "name": "a-user-of-the-collector", "private": true }')
    const flags = ['--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund']
    const installed = await run('npm', ['install', tarball, ...flags], folder)
    if (installed.code !== 0) throw new Error(installed.output)
    return { folder, tarball, files, write, remove }
  } catch (cause) {
    remove()
    throw cause
  }
}

/** Builds and packs a copy: a build empties `dist` first, and other tests run the files in `dist`. */
async function packAsReleased(folder: string): Promise<Packed> {
  const workspace = join(folder, 'workspace')
  const copy = join(workspace, 'collector')
  mkdirSync(workspace)
  cpSync(join(REPOSITORY, 'tsconfig.json'), join(workspace, 'tsconfig.json'))
  cpSync(join(REPOSITORY, 'package.json'), join(workspace, 'package.json'))
  cpSync(join(REPOSITORY, 'scripts'), join(workspace, 'scripts'), { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules'), join(workspace, 'node_modules'))
  const isLeftOut = /\/collector\/(?:node_modules|dist|test|test-results|bench)(?:\/|$)/
  cpSync(join(REPOSITORY, 'collector'), copy, { recursive: true, filter: (path) => !isLeftOut.test(path) })
  return pack(copy, folder)
}

/** @param workspace Its folder in the repository. */
export function packBuilt(folder: string, workspace = 'collector'): Promise<Packed> {
  return pack(join(REPOSITORY, workspace), folder, '--ignore-scripts')
}

async function pack(source: string, folder: string, ...flags: string[]): Promise<Packed> {
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', folder, ...flags]
  const packed = await run('npm', args, source)
  if (packed.code !== 0) throw new Error(packed.output)
  const [{ filename, files }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[\n'))) as [
    { filename: string; files: Array<{ path: string }> },
  ]
  return { tarball: join(folder, filename), files: files.map(({ path }) => path).sort() }
}

/** Links a package into the project, as if the user had installed it. */
export function link(project: Project, name: string): void {
  mkdirSync(join(project.folder, 'node_modules', name, '..'), { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules', name), join(project.folder, 'node_modules', name))
}
