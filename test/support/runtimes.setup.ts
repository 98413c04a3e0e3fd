import { fetchRuntime, MANIFEST } from '../../scripts/fetch-runtimes.mjs'

/** If a download fails, for instance without a network, the tests that need the runtime are skipped. */
export default function setup(): void {
  for (const name of Object.keys(MANIFEST)) {
    try {
      fetchRuntime(name)
    } catch (error) {
      console.error(`SKIPPED: tests that need ${name}: ${(error as Error).message.trim().split('\n').pop()}`)
    }
  }
}
