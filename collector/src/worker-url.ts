/** The URL of the built code of a thread. This module is one level below the package, built or not. */
export function workerUrl(name: 'reader' | 'checkpoint'): URL {
  return new URL(`../dist/workers/${name}.js`, import.meta.url)
}
