/**
 * Compresses with gzip (RFC 1952), outside the main thread if the runtime can. Must not write to `bytes`. Rejects or throws if
 * the runtime has no compression.
 */
export type Gzip = (bytes: Uint8Array) => Promise<Uint8Array>
