import type { AsyncContext } from './async-context.ts'

/** For runtimes that have no asynchronous context, or only behind a flag. */
export const asyncContext: AsyncContext = {
  capture: () => (run) => run(),
  createLocal: () => undefined,
}
