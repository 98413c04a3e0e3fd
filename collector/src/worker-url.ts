/** Returns the URL of a thread's built code. `dist` is beside the folder of this module, both in `src` and in the build. */
export function workerUrl(name: 'reader' | 'checkpoint'): URL {
  return new URL(`../dist/workers/${name}.js`, import.meta.url)
}
