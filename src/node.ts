// An entry point of its own, so that only programs that ask for it load node:http and take signals.
export { NodeHTTPClient } from './http/node-client.ts'
export { type ClosableClient, type CloseOnOptions, closeOn } from './runtime/close-on.ts'
