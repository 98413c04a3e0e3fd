/** Tests that each implementation of the interfaces in `ports` has to pass. They need Vitest. */
export { newEvent, newRequest } from './new-event.ts'
export type { Runner } from './runner.ts'
export { describeStore, type Subject } from './store.ts'
export { describeTokenMemory } from './token-memory.ts'
