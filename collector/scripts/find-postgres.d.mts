/** The folder of the programs of a PostgreSQL server; undefined when there is none. */
export function findPostgres(env?: NodeJS.ProcessEnv): string | undefined
