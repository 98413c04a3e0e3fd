import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    name: 'collector',
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.setup.ts'],
    testTimeout: 15_000,
  },
})
