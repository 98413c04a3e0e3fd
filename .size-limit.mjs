// Sizes of `import { Analytics } from 'trackpost'` in a bundle, minified and gzipped. The limits are the present sizes; the goals
// for what is loaded at once are 28 kB and 27 kB, and 33 kB for one file. Lower a limit whenever the build gets smaller.
const LOADED_LATER = ['./tokens-*', './compress-*', './verify-*']

function size(name, limit, options, external = []) {
  const modifyEsbuildConfig = (config) => ({
    ...config,
    ...options,
    format: 'esm',
    target: 'es2022',
    external: ['node:*', ...external],
  })
  return { name, path: 'dist/index.js', import: '{ Analytics }', gzip: true, limit, modifyEsbuildConfig }
}

const NODE = { platform: 'node' }
const WORKERD = { platform: 'browser', conditions: ['workerd', 'worker', 'browser'] }

export default [
  size('Node.js, loaded at once', '34.0 kB', NODE, LOADED_LATER),
  size('Node.js, all in one file', '42.0 kB', NODE),
  size('workerd, loaded at once', '32.0 kB', WORKERD, LOADED_LATER),
  size('workerd, all in one file', '40.0 kB', WORKERD),
]
