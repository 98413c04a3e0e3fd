/** Path of a Chromium that is there; undefined when there is none. */
export function findBrowser(env?: NodeJS.ProcessEnv): string | undefined
