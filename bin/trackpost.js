#!/usr/bin/env node
// `npx trackpost` starts this program. The command line is another package, whose program has the same name.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

let folder
try {
  folder = dirname(createRequire(import.meta.url).resolve('trackpost-cli/package.json'))
} catch {
  console.error(
    'trackpost is a library. Its command line is the package trackpost-cli: npx trackpost-cli --help',
  )
  process.exitCode = 2
}
if (folder !== undefined) await import(pathToFileURL(join(folder, 'bin/trackpost.js')))
