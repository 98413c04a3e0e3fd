import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  target: 'node16',
  platform: 'neutral',
  external: [/^node:/],
  // Runtimes other than Node.js know its modules by this prefix only.
  removeNodeProtocol: false,
  dts: true,
  clean: true,
  // No `splitting`: ES modules are split by default, and for CommonJS it would turn every import() into a
  // require(), which cannot load jose, an ES module, before Node.js 20.19.
  esbuildOptions(options, { format }) {
    if (format !== 'cjs') return
    // Only for this platform does esbuild name the exports where Node.js and TypeScript look for them.
    options.platform = 'node'
    // It leaves out the default export; never executed, only read.
    options.footer = { js: '0 && (exports.default = 0);' }
  },
})
