// This entry point needs msw 2, an optional peer dependency.
export { type HandlerOptions, handlers } from './testing/msw.ts'
