import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The command line and the page are tested as users get them: built. */
export default function build(): void {
  if (process.env['IS_BUILT'] === '1') return
  const folder = fileURLToPath(new URL('..', import.meta.url))
  execFileSync('npx', ['vite', 'build', 'page', '--logLevel', 'warn'], { cwd: folder, stdio: 'inherit' })
  execFileSync('npx', ['tsup', '--no-dts', '--silent'], { cwd: folder, stdio: 'inherit' })
}
