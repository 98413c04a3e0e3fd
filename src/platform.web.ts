// For edge runtimes and browsers: the exports of platform.node.ts, without `node:` modules.
export { defaultClient } from './http/default-client.web.ts'
export { gzip } from './runtime/compress.web.ts'
export { listenToExit, unwatchExit, watchExit } from './runtime/exit.web.ts'
export { AsyncResource, platform } from './runtime/platform.web.ts'
