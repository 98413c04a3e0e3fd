// This entry point needs msw 2, an optional peer dependency.
export { type HandlerOptions, handlers, type ServiceRequest, type ServiceResponse } from './testing/msw.ts'
