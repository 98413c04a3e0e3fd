import { fetchFrameworks } from '../../scripts/fetch-frameworks.mjs'

/** Fetches what is not there yet. What cannot be had, without a network for instance, is said here and skipped later. */
export default function setup(): void {
  try {
    fetchFrameworks()
  } catch (error) {
    console.error(`SKIPPED: tests of the frameworks: ${(error as Error).message.trim().split('\n').pop()}`)
  }
}
