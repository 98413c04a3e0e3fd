import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import type { AsyncContext } from './async-context.ts'

/** The asynchronous context of Node.js, Bun and Deno. Edge runtimes get `async-context.web.ts` in its place. */
export const asyncContext: AsyncContext = {
  capture: () => new AsyncResource('Trackpost'),

  createLocal<Value>() {
    const storage = new AsyncLocalStorage<Value>()
    return {
      run: <Result>(value: Value, run: () => Result) => storage.run(value, run),
      get: () => storage.getStore(),
    }
  },
}
