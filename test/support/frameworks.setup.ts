import { fetchFrameworks } from '../../scripts/fetch-frameworks.mjs'

/** If a download fails, for instance without a network, the tests of the frameworks are skipped. */
export default function setup(): void {
  try {
    fetchFrameworks()
  } catch (error) {
    console.error(`SKIPPED: tests of the frameworks: ${(error as Error).message.trim().split('\n').pop()}`)
  }
}
