import type { Gzip } from './compress.ts'

/** For edge runtimes. */
export const gzip: Gzip = async (bytes) => {
  const gzipped = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(gzipped).arrayBuffer())
}
