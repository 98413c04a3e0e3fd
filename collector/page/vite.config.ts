import { defineConfig } from 'vite'

/** A collector to develop against: `npm run dev:page` shows its events in a page that reloads as it is edited. */
const collector = process.env['COLLECTOR'] ?? 'http://127.0.0.1:8787'

// Also where tests build it: else the libraries bring their help for developers, which doubles them.
if (process.argv.includes('build')) process.env['NODE_ENV'] = 'production'

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the page also works below a path prefix of a proxy.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    // Browsers of spring 2024 and later, which have `light-dark()` and popovers.
    target: ['chrome124', 'firefox125', 'safari17.5'],
    // The policy of the page allows no inline script, and nothing of the page is large enough for a chunk of its own.
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
