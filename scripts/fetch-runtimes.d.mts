export interface Pin {
  package: string
  version: string
  /** The path of the binary in the package. */
  binary: string
  integrity: string
  /** Other packages that the package needs, by name. */
  dependencies?: Record<string, { version: string; integrity: string }>
}

export declare const MANIFEST: Record<string, Pin>

/** Installs the runtime first if it is not in the cache. Returns the path of its binary. */
export declare function fetchRuntime(name: string, pin?: Pin): string

/** Returns `undefined` if the runtime is not in the cache. */
export declare function findRuntime(name: string, pin?: Pin): string | undefined
