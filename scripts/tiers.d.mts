export declare const TIER: 'default' | 'rest' | 'full'
export declare function filesOfTier(
  folder?: string,
  exclude?: string[],
): { include: string[]; exclude: string[] }
