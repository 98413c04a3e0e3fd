export declare function findPackages(folder: string): string | undefined
export declare function fetchPackages(folder: string): Promise<string>
export declare function tryFetchPackages(folders: readonly string[]): Promise<boolean>
