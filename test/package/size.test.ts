import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

test('what `import { Analytics }` adds to a bundle', async () => {
  const entry = await project.write('bundle.mjs', `export { Analytics } from 'trackpost'\n`)

  const { outputFiles, warnings } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node16',
    splitting: true,
    outdir: project.folder,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })

  const rows = outputFiles.map(({ path, contents }) => ({
    file: path.slice(project.folder.length + 1),
    bytes: contents.length,
    gzipped: gzipSync(contents, { level: 9 }).length,
  }))
  for (const { file, bytes, gzipped } of rows) {
    console.log(`size of ${file}, dependencies included: ${bytes} bytes minified, ${gzipped} gzipped`)
  }
  expect(warnings).toEqual([])
  expect(rows.map(({ file }) => file)).toContain('bundle.js')
})
