import { tryFetchPackages } from '../../scripts/fetch-packages.mjs'

/** If a download fails, the tests that need the packages are skipped. */
export default async function setup(): Promise<void> {
  await tryFetchPackages(['test/runtimes', 'test/frameworks'])
}
