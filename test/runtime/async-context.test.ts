import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

beforeEach(() => {
  vi.resetModules()
})
afterEach(() => {
  vi.unstubAllGlobals()
})

type Module = typeof import('../../src/runtime/platform.node.ts')

function load(name: 'node' | 'web'): Promise<Module> {
  return name === 'node'
    ? import('../../src/runtime/platform.node.ts')
    : import('../../src/runtime/platform.web.ts')
}

const RUNTIMES = {
  'Node.js': () => load('node'),
  'workerd with nodejs_compat': () => {
    vi.stubGlobal('process', { getBuiltinModule: () => ({ AsyncLocalStorage }) })
    return load('web')
  },
  'an edge function of Next.js, where each function of process throws': () => {
    const getBuiltinModule = (): never => {
      throw new Error('A Node.js API is used (process.getBuiltinModule)')
    }
    vi.stubGlobal('process', { getBuiltinModule })
    vi.stubGlobal('AsyncLocalStorage', AsyncLocalStorage)
    return load('web')
  },
  'an edge runtime with a global AsyncLocalStorage': () => {
    vi.stubGlobal('process', undefined)
    vi.stubGlobal('AsyncLocalStorage', AsyncLocalStorage)
    return load('web')
  },
}

describe.each(Object.entries(RUNTIMES))('on %s', (_name, loadFor) => {
  test('a captured context is the one at the time of the capture', async () => {
    const { AsyncResource } = await loadFor()
    const storage = new AsyncLocalStorage<string>()
    const captured = storage.run('then', () => new AsyncResource('Test'))

    const seen = storage.run('now', () => captured.runInAsyncScope(() => storage.getStore()))

    expect(seen).toBe('then')
  })
})

test('without async contexts in the runtime, functions run as usual', async () => {
  vi.stubGlobal('process', undefined)
  const { AsyncResource } = await load('web')

  expect(new AsyncResource('Test').runInAsyncScope(() => 7)).toBe(7)
})
