import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** All temporary files of a run are in one folder, so that those of killed processes are deleted too. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-'))
  // If the tests run as root, PostgreSQL runs as another user, who has to enter the folder.
  chmodSync(folder, 0o711)
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  return () => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
