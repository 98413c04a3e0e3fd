/** Returns the URL of a thread's built code. `../dist` leads there from `src`, and also from the build in `dist`. */
export function workerUrl(name: 'reader' | 'checkpoint'): URL {
  return new URL(`../dist/workers/${name}.js`, import.meta.url)
}
