import type * as node from './compress.node.ts'

/** For edge runtimes. */
export const gzip: typeof node.gzip = async (bytes) => {
  const gzipped = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(gzipped).arrayBuffer())
}
