/** The steps that only the full form runs, by name, each with a description of its tests. */
export declare const FULL_STEPS: Readonly<Record<string, string>>
/** The files and folders of tests that only the full form runs, by subject. */
export declare const FULL_FILES: Readonly<Record<string, readonly string[]>>
/** Files and folders that only the full form runs, because they take long. */
export declare const LONG_FILES: readonly string[]
export declare const FULL_ROWS: readonly string[]
export declare const BOTH_FILES: Readonly<Record<string, readonly string[]>>
export declare const TIER: 'default' | 'rest' | 'full'
/** The patterns of the files that a vitest project runs in this form of `npm test`. */
export declare function filesOfTier(project: {
  include: string[]
  exclude?: string[]
  below: string
  root?: string
}): { include: string[]; exclude: string[] }
