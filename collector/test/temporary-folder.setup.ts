import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** All temporary files of a run lie in one folder, which goes with the run: whatever a test forgets or a killed process leaves. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-'))
  // PostgreSQL runs as another user when the tests run as root: it has to pass through.
  chmodSync(folder, 0o711)
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  return () => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
