/** Where the built code of a thread lies. This module lies one level below the package, built or not. */
export function workerUrl(name: 'reader' | 'checkpoint'): URL {
  return new URL(`../dist/workers/${name}.js`, import.meta.url)
}
