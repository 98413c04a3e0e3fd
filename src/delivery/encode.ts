/** A request body as it goes over the wire. */
export interface EncodedBody {
  readonly bytes: Uint8Array
  /** Headers that say how it is encoded. */
  readonly headers: Readonly<Record<string, string>>
}

/** Encodes a request body. A promise only where the work takes time; must not write to `body`. */
export type Encode = (body: Uint8Array) => EncodedBody | Promise<EncodedBody>
