// The entry point `trackpost/msw`. It needs msw 2, an optional peer dependency.
export { type HandlerOptions, handlers, type ServiceRequest, type ServiceResponse } from './testing/msw.ts'
