// An entry point of its own, so that only programs that ask for it load node:http.
export { NodeHTTPClient } from './http/node-client.ts'
