import { readFileSync } from 'node:fs'

/** Version of this package. This module is one level below it, built or not. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version
