// The entry point `trackpost/node`, separate so that only programs that ask for it load node:http and take signals.
export { NodeHTTPClient } from './http/node-client.ts'
export { type ClosableClient, type CloseOnOptions, closeOn } from './runtime/close-on.ts'
