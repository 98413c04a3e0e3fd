import { AsyncLocalStorage, AsyncResource as NodeAsyncResource } from 'node:async_hooks'
import type { AsyncResourceClass, CreateAsyncLocal } from './async-context.ts'

// The asynchronous context of Node.js, Bun and Deno. Edge runtimes get `async-context.web.ts` in its place.

export const AsyncResource: AsyncResourceClass = NodeAsyncResource

export const createAsyncLocal: CreateAsyncLocal = <Value>() => {
  const storage = new AsyncLocalStorage<Value>()
  return {
    run: <Result>(value: Value, run: () => Result) => storage.run(value, run),
    get: () => storage.getStore(),
  }
}
