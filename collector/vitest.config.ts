import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    name: 'collector',
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.setup.ts', 'test/postgres.setup.ts'],
    testTimeout: 30_000,
    // What is polled for comes at once or never; the limit only has to outlast a busy machine.
    expect: { poll: { timeout: 10_000 } },
  },
})
