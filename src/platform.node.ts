// The code that differs between platforms. `#platform` in package.json chooses this file or platform.web.ts.
export { defaultClient } from './http/default-client.node.ts'
export { gzip } from './runtime/compress.node.ts'
export { listenToExit, unwatchExit, watchExit } from './runtime/exit.node.ts'
export { AsyncResource, platform } from './runtime/platform.node.ts'
