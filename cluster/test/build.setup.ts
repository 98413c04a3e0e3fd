import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { TIER } from '../../scripts/tiers.mjs'

/** Builds the SDK, the collector without its page, and the cluster, so that the processes of the tests run what users get. */
export default function build(): void {
  if (process.env['IS_BUILT'] === '1' || TIER === 'default') return
  for (const folder of ['../..', '../../collector', '..'])
    execFileSync('npx', ['tsup', '--no-dts', '--silent'], {
      cwd: fileURLToPath(new URL(folder, import.meta.url)),
      stdio: 'inherit',
    })
}
