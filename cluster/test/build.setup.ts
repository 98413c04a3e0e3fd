import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds the drivers, so that the processes of the tests run what users get. */
export default function build(): void {
  if (process.env['IS_BUILT'] === '1') return
  const folder = fileURLToPath(new URL('..', import.meta.url))
  execFileSync('npx', ['tsup', '--no-dts', '--silent'], { cwd: folder, stdio: 'inherit' })
}
