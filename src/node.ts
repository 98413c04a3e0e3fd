// A separate entry point, so that other programs do not load the code for node:http and signals.
export { NodeHTTPClient } from './http/node-client.ts'
export { type ClosableClient, type CloseOnOptions, closeOn } from './runtime/close-on.ts'
