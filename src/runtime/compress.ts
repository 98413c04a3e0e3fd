/**
 * Compresses with gzip (RFC 1952), off the main thread where the runtime can. Must not write to `bytes`. Rejects, or
 * throws, where the runtime has no compression.
 */
export type Gzip = (bytes: Uint8Array) => Promise<Uint8Array>
