/** Name to `{ package, version, binary, integrity }`. */
export declare const MANIFEST: Record<
  string,
  { package: string; version: string; binary: string; integrity: string }
>

/** The path of a runtime's binary; installs it first if it is not in the cache. */
export declare function fetchRuntime(name: string): string

/** The path of a runtime's binary, if it is in the cache. */
export declare function findRuntime(name: string): string | undefined
