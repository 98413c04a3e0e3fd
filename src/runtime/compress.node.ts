/** Limits of the output chunk size. Each chunk costs a round trip between the thread pool and the main thread. */
const CHUNK_BYTES = { least: 1_024, most: 131_072 }

let loaded: typeof import('node:zlib') | undefined

/**
 * Compresses with gzip (RFC 1952), on the thread pool of Node.js, Bun and Deno. Does not write to `bytes`. On edge runtimes,
 * `compress.web.ts` takes the place of this file.
 */
export async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  // Called on the default export, because instrumentation replaces `gzip` there.
  loaded ??= (await import('node:zlib')).default
  const zlib = loaded
  // A quarter of the input: batches of similar events usually shrink to less than that.
  const chunkSize = Math.min(Math.max(bytes.length >> 2, CHUNK_BYTES.least), CHUNK_BYTES.most)
  return new Promise((resolve, reject) => {
    zlib.gzip(bytes, { chunkSize }, (error, gzipped) => (error === null ? resolve(gzipped) : reject(error)))
  })
}
