import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/** The collector for development. `npm run dev:page` shows its events, and reloads the page when its source changes. */
const collector = process.env['COLLECTOR'] ?? 'http://127.0.0.1:8787'

// Tests build in production mode too: otherwise the libraries include their development checks, which doubles their size.
if (process.argv.includes('build')) process.env['NODE_ENV'] = 'production'

const FACES = ['@fontsource-variable/geist', '@fontsource/geist-mono']

/** The licence of the typefaces asks that its text comes with them. `build.license` lists only the code. */
const faceLicenses: Plugin = {
  name: 'face-licenses',
  generateBundle() {
    const texts = FACES.map((name) => {
      const file = fileURLToPath(import.meta.resolve(`${name}/LICENSE`))
      return `# ${name}\n\n${readFileSync(file, 'utf8').trim()}\n`
    })
    this.emitFile({ type: 'asset', fileName: 'LICENSES-FONTS.md', source: texts.join('\n') })
  },
}

export default defineConfig({
  plugins: [faceLicenses],
  root: import.meta.dirname,
  // Relative, so that the page also works under the path prefix of a proxy.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    // Browsers since spring 2024: they have `light-dark()` and popovers.
    target: ['chrome124', 'firefox125', 'safari17.5'],
    // The content security policy of the page forbids inline scripts. The page is too small to be split into chunks.
    modulePreload: false,
    assetsInlineLimit: 0,
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      output: {
        entryFileNames: 'page.js',
        assetFileNames: ({ names }) => (names[0]?.endsWith('.woff2') ? '[name][extname]' : 'page[extname]'),
        codeSplitting: false,
      },
    },
  },
  server: {
    // Without this header, the collector would refuse the requests, because they come from another origin.
    proxy: { '/api': { target: collector, headers: { origin: collector } } },
  },
})
