// The entry point `trackpost/msw`: it needs msw 2, an optional peer.
export { type HandlerOptions, handlers, type ServiceRequest, type ServiceResponse } from './testing/msw.ts'
