import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { install } from '../package/project.ts'

/** Packs and installs the package once for all test files of a suite. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'trackpost-installed-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    provide('installed', await install(folder))
  } catch (cause) {
    await remove()
    throw cause
  }
  return remove
}
