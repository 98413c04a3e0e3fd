import { fetchPackages } from '../../scripts/fetch-packages.mjs'

/** If a download fails, for instance without a network, the tests that need the packages are skipped. */
export default async function setup(): Promise<void> {
  await Promise.all(
    ['test/runtimes', 'test/frameworks'].map(async (folder) => {
      await fetchPackages(folder).catch(({ message, cause }: Error) => {
        console.error(`SKIPPED: tests that need ${folder}: ${message}: ${(cause as Error).message}`)
      })
    }),
  )
}
