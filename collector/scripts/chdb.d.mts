/** The path of ClickHouse as a library; undefined where it is not installed. */
export declare function findChdb(): string | undefined
