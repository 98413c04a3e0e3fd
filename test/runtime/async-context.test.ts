import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { AsyncContext } from '../../src/runtime/async-context.ts'

beforeEach(() => {
  vi.resetModules()
})
afterEach(() => {
  vi.unstubAllGlobals()
})

async function load(name: 'node' | 'web'): Promise<AsyncContext> {
  const { asyncContext } =
    name === 'node'
      ? await import('../../src/runtime/async-context.node.ts')
      : await import('../../src/runtime/async-context.web.ts')
  return asyncContext
}

const RUNTIMES = {
  'Node.js': () => load('node'),
  'workerd with nodejs_compat': () => {
    vi.stubGlobal('process', { getBuiltinModule: () => ({ AsyncLocalStorage }) })
    return load('web')
  },
  'an edge runtime with a global': () => {
    vi.stubGlobal('process', undefined)
    vi.stubGlobal('AsyncLocalStorage', AsyncLocalStorage)
    return load('web')
  },
}

describe.each(Object.entries(RUNTIMES))('on %s', (_name, loadFor) => {
  test('what is captured is the context of that moment', async () => {
    const { capture } = await loadFor()
    const storage = new AsyncLocalStorage<string>()
    const captured = storage.run('then', () => capture())

    const seen = storage.run('now', () => captured.runInAsyncScope(() => storage.getStore()))

    expect(seen).toBe('then')
  })

  test('a local value stays with the code that it was set for', async () => {
    const local = (await loadFor()).createLocal<string>()

    const seen = await Promise.all(
      ['a', 'b'].map((value) =>
        local?.run(value, async () => {
          await null
          return local.get()
        }),
      ),
    )

    expect(seen).toEqual(['a', 'b'])
    expect(local?.get()).toBeUndefined()
  })
})

test('where the runtime has none, functions run as they are', async () => {
  vi.stubGlobal('process', undefined)
  const { capture, createLocal } = await load('web')

  expect(capture().runInAsyncScope(() => 7)).toBe(7)
  expect(createLocal()).toBeUndefined()
})
