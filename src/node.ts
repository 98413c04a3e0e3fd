// An entry of its own, `trackpost/node`: whoever does not ask for it does not load node:http.
export { NodeHTTPClient } from './http/node-client.ts'
