import { defineConfig } from 'vite'

/** A collector to develop against: `npm run dev:page` shows its events in a page that reloads as it is edited. */
const collector = process.env['COLLECTOR'] ?? 'http://127.0.0.1:8787'

// Production mode in tests too: otherwise the libraries include their development checks, which doubles their size.
if (process.argv.includes('build')) process.env['NODE_ENV'] = 'production'

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the page also works under the path prefix of a proxy.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    // Browsers of spring 2024 and later, which have `light-dark()` and popovers.
    target: ['chrome124', 'firefox125', 'safari17.5'],
    // The content security policy of the page allows no inline script, and no part of the page is large enough for a separate
    // chunk.
    modulePreload: false,
    assetsInlineLimit: 0,
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      output: {
        entryFileNames: 'page.js',
        assetFileNames: 'page[extname]',
        codeSplitting: false,
      },
    },
  },
  server: {
    // The collector refuses requests of other origins.
    proxy: { '/api': { target: collector, headers: { origin: collector } } },
  },
})
