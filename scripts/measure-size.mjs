// Measures how the bytes of `import { Analytics } from 'trackpost'` are distributed: `npm run measure:size`. The bundle is
// minified and gzipped, without code that is loaded later. Each module (a folder of src) gets a part of the compressed size, in
// proportion to its minified size.
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAIN = join(ROOT, 'src/index.ts')

/** Chooses the modules of a platform, and leaves out code that is loaded later. */
function choose(platform) {
  return {
    name: 'choose',
    setup({ onResolve }) {
      onResolve({ filter: /^\.+\/.*\.ts$/ }, ({ path, resolveDir, kind }) =>
        kind === 'dynamic-import'
          ? { path, external: true }
          : { path: resolve(resolveDir, path.replace('.node.ts', `.${platform}.ts`)) },
      )
    },
  }
}

async function measure(platform) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export { Analytics } from ${JSON.stringify(MAIN)}`, resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    metafile: true,
    write: false,
    outdir: 'dist',
    format: 'esm',
    target: 'es2022',
    mainFields: ['module'],
    external: ['node:*'],
    plugins: [choose(platform)],
  })
  const [{ contents }] = outputFiles
  const modules = new Map()
  for (const [path, { bytesInOutput }] of Object.entries(Object.values(metafile.outputs)[0].inputs)) {
    const [first = '', ...rest] = relative('src', path).split('/')
    const module = first === '..' || rest.length === 0 ? basename(path) : first
    modules.set(module, (modules.get(module) ?? 0) + bytesInOutput)
  }
  return { modules, minified: contents.length, gzipped: gzipSync(contents, { level: 9 }).length }
}

for (const platform of ['node', 'web']) {
  const { modules, minified, gzipped } = await measure(platform)
  console.log(`${platform}: ${gzipped} bytes gzipped, ${minified} minified`)
  for (const [module, bytes] of [...modules].sort(([, a], [, b]) => b - a)) {
    const part = Math.round((bytes / minified) * gzipped)
    if (part >= 50)
      console.log(`  ${module.padEnd(16)} ${String(part).padStart(6)} ${String(bytes).padStart(7)}`)
  }
}
