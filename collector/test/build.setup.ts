import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The command line is tested as users get it: built. */
export default function build(): void {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  execFileSync('npx', ['tsup', '--no-dts', '--silent'], { cwd: folder, stdio: 'inherit' })
}
