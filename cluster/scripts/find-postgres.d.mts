/** Returns the folder with the programs of a PostgreSQL server; undefined if there is none. */
export function findPostgres(env?: NodeJS.ProcessEnv): string | undefined
