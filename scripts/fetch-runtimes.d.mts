/** The package of a runtime, in the exact version to install. */
export interface Pin {
  package: string
  version: string
  /** The path of the binary in the package. */
  binary: string
  integrity: string
  /** Other packages that the package needs, by name. */
  dependencies?: Record<string, { version: string; integrity: string }>
}

/** The runtimes by name. */
export declare const MANIFEST: Record<string, Pin>

/** Returns the path of a runtime's binary. Installs the runtime first if it is not in the cache. */
export declare function fetchRuntime(name: string, pin?: Pin): string

/** The path of a runtime's binary, if it is in the cache. */
export declare function findRuntime(name: string, pin?: Pin): string | undefined
