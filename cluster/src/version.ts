import { readFileSync } from 'node:fs'

/** The version of this package. `package.json` is one folder above this module, both in `src` and in the build. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version
