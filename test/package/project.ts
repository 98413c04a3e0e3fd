import { execFile } from 'node:child_process'
import { copyFile, cp, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import type { Tarball } from '../../scripts/install-packed.mjs'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** A folder like the project of a user, in which only the packed package is installed. */
export interface Project {
  readonly folder: string
  readonly tarball: Tarball
  write(name: string, text: string): Promise<string>
  /** Copies a file of the repository into the project. */
  add(path: string): Promise<string>
  remove(): Promise<void>
}

export interface Result {
  readonly code: number
  /** Stdout followed by stderr. */
  readonly output: string
  readonly stdout: string
}

export function run(command: string, args: string[], folder = REPOSITORY, env = {}): Promise<Result> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...environment(), ...env }, maxBuffer: 16_777_216 }
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr, stdout })
    })
  })
}

export function runTool(name: string, args: string[], folder?: string): Promise<Result> {
  return run(join(REPOSITORY, 'node_modules', '.bin', name), args, folder)
}

/**
 * The environment without the variables that `npm run` and Vitest set for the repository: they would mislead npm and test
 * runners in the other folder.
 */
function environment(): NodeJS.ProcessEnv {
  const isAboutRepository =
    /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|VITEST|NODE_ENV$|TEST$)/
  const entries = Object.entries(process.env).filter(([name]) => !isAboutRepository.test(name))
  return { ...Object.fromEntries(entries), NO_COLOR: '1', FORCE_COLOR: '0' }
}

export interface Installed {
  readonly folder: string
  readonly tarball: Tarball
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The project that `createProject` copies for each test file. */
    installed: Installed
  }
}

/**
 * Copies the project that was installed once for all test files.
 *
 * @param parent The folder in which the project is created. The project can import the packages that are installed there.
 */
export async function createProject(parent = tmpdir()): Promise<Project> {
  const installed = inject('installed')
  const folder = await realpath(await mkdtemp(join(parent, 'trackpost-package-')))
  await cp(installed.folder, folder, { recursive: true })
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, text)
    return path
  }
  return {
    folder,
    tarball: installed.tarball,
    write,
    async add(path) {
      const target = join(folder, basename(path))
      await copyFile(join(REPOSITORY, path), target)
      return target
    },
    remove: () => rm(folder, { recursive: true }),
  }
}
