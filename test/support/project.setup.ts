import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { installPacked } from '../../scripts/install-packed.mjs'

/** Packs and installs the package once for all test files, unless scripts/test.mjs has already done so. */
export default async function setup({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const packed = process.env['PACKED']
  if (packed !== undefined) {
    provide('installed', JSON.parse(await readFile(join(packed, 'installed.json'), 'utf8')))
    return undefined
  }
  const folder = await mkdtemp(join(tmpdir(), 'trackpost-installed-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    provide('installed', installPacked(folder))
  } catch (cause) {
    await remove()
    throw cause
  }
  return remove
}
