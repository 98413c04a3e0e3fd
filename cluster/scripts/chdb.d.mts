/** Returns the path of the ClickHouse library; undefined if it is not installed. */
export declare function findChdb(): string | undefined
