/** Returns the path of an installed Chromium; undefined if there is none. */
export function findBrowser(env?: NodeJS.ProcessEnv): string | undefined
