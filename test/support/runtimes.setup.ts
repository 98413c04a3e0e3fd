import { fetchRuntime, MANIFEST } from '../../scripts/fetch-runtimes.mjs'

/** Fetches what is not there yet. What cannot be had, without a network for instance, is said here and skipped later. */
export default function setup(): void {
  for (const name of Object.keys(MANIFEST)) {
    try {
      fetchRuntime(name)
    } catch (error) {
      console.error(`SKIPPED: tests that need ${name}: ${(error as Error).message.trim().split('\n').pop()}`)
    }
  }
}
