import type { Gzip } from './compress.ts'

/** For edge runtimes. */
export const gzip: Gzip = async (bytes) => {
  const { body } = new Response(bytes as Uint8Array<ArrayBuffer>)
  if (body === null) throw new TypeError('there is no body to compress')
  const gzipped = body.pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(gzipped).arrayBuffer())
}
