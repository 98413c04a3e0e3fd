/** The path of ClickHouse as a library; undefined if it is not installed. */
export declare function findChdb(): string | undefined
