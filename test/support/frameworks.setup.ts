import { fetchFrameworks } from '../../scripts/fetch-frameworks.mjs'

/**
 * Downloads missing web frameworks. If a download fails, for instance without a network, prints the error. The tests
 * of the frameworks are then skipped.
 */
export default function setup(): void {
  try {
    fetchFrameworks()
  } catch (error) {
    console.error(`SKIPPED: tests of the frameworks: ${(error as Error).message.trim().split('\n').pop()}`)
  }
}
