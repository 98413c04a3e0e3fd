// The counterpart of platform.node.ts for edge runtimes and browsers, without `node:` modules.
export { perRequest } from './client/requests.web.ts'
export { defaultClient } from './http/default-client.web.ts'
export { gzip } from './runtime/compress.web.ts'
export { AsyncResource, createAsyncLocal, openChannel, platform } from './runtime/platform.web.ts'
