import { defineConfig } from 'vite'

/** The collector for development. `npm run dev:page` shows its events, and reloads the page when its source changes. */
const collector = process.env['COLLECTOR'] ?? 'http://127.0.0.1:8787'

// Tests build in production mode too: otherwise the libraries include their development checks, which doubles their size.
if (process.argv.includes('build')) process.env['NODE_ENV'] = 'production'

export default defineConfig({
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
        assetFileNames: 'page[extname]',
        codeSplitting: false,
      },
    },
  },
  server: {
    // Without this header, the collector would refuse the requests, because they come from another origin.
    proxy: { '/api': { target: collector, headers: { origin: collector } } },
  },
})
