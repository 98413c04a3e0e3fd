/** The exact version that is installed. */
export interface Pin {
  package: string
  version: string
  /** The path in the package. */
  binary: string
  integrity: string
  /** Further packages that it needs. */
  dependencies?: Record<string, { version: string; integrity: string }>
}

/** The runtimes by name. */
export declare const MANIFEST: Record<string, Pin>

/** The path of a runtime's binary; installs it first if it is not in the cache. */
export declare function fetchRuntime(name: string, pin?: Pin): string

/** The path of a runtime's binary, if it is in the cache. */
export declare function findRuntime(name: string, pin?: Pin): string | undefined
