import type { Gzip } from './compress.ts'

/** Each chunk costs a round trip between the thread pool and the main thread. */
const CHUNK_BYTES = { least: 1_024, most: 131_072 }

let loaded: typeof import('node:zlib') | undefined

/** Compresses on the thread pool of Node.js, Bun and Deno. Edge runtimes get `compress.web.ts` in its place. */
export const gzip: Gzip = async (bytes) => {
  // Loaded with the first use. Calls `gzip` on the default export, because instrumentation replaces it there.
  loaded ??= (await import('node:zlib')).default
  const zlib = loaded
  // Batches of similar events shrink to less than a quarter.
  const chunkSize = Math.min(Math.max(bytes.length >> 2, CHUNK_BYTES.least), CHUNK_BYTES.most)
  return new Promise((resolve, reject) => {
    zlib.gzip(bytes, { chunkSize }, (error, gzipped) => (error === null ? resolve(gzipped) : reject(error)))
  })
}
