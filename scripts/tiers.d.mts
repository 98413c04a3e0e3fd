export declare const FULL_STEPS: Readonly<Record<string, string>>
export declare const FULL_FILES: Readonly<Record<string, readonly string[]>>
export declare const LONG_FILES: readonly string[]
export declare const FULL_ROWS: readonly string[]
export declare const BOTH_FILES: Readonly<Record<string, readonly string[]>>
export declare const TIER: 'default' | 'rest' | 'full'
export declare function filesOfTier(project: {
  include: string[]
  exclude?: string[]
  below: string
  root?: string
}): { include: string[]; exclude: string[] }
