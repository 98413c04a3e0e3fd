import { test, vi } from 'vitest'
import suite from './suite.cjs'

suite(test, {
  'real timers': { install() {}, uninstall() {}, count: () => 0 },
  'fake timers of Vitest': {
    install: () => vi.useFakeTimers(),
    uninstall: () => vi.useRealTimers(),
    count: () => vi.getTimerCount(),
  },
})
