import { fetchFrameworks } from '../../scripts/fetch-frameworks.mjs'

/**
 * Downloads missing packages. If one cannot be downloaded, for instance without a network, this is printed
 * here, and its tests are skipped later.
 */
export default function setup(): void {
  try {
    fetchFrameworks()
  } catch (error) {
    console.error(`SKIPPED: tests of the frameworks: ${(error as Error).message.trim().split('\n').pop()}`)
  }
}
