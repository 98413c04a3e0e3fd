import { fetchRuntime, MANIFEST } from '../../scripts/fetch-runtimes.mjs'

/**
 * Downloads missing runtimes. If one cannot be downloaded, for instance without a network, this is printed
 * here, and its tests are skipped later.
 */
export default function setup(): void {
  for (const name of Object.keys(MANIFEST)) {
    try {
      fetchRuntime(name)
    } catch (error) {
      console.error(`SKIPPED: tests that need ${name}: ${(error as Error).message.trim().split('\n').pop()}`)
    }
  }
}
