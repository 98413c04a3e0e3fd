// Installs packed packages into an empty project, and sends an event with each: `node test/package/use-packed.mjs FOLDER`. Runs
// on Linux, macOS and Windows.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const packed = resolve(process.argv[2])
const tarballs = readdirSync(packed).filter((name) => name.endsWith('.tgz'))
const project = mkdtempSync(join(tmpdir(), 'trackpost-use-'))

/** The program of a user: sends one event, and keeps the events in flight on disk. */
const body = `
  const analytics = new Analytics({ writeKey: 'k', host: process.argv[2], spool: new FileSpool('spool') })
  const context = await new Promise((resolve, reject) =>
    analytics.track({ userId: 'ada', event: process.argv[3] }, (error, done) => (error ? reject(error) : resolve(done))),
  )
  await analytics.closeAndFlush()
  console.log(analytics.stats.delivered)`
const PROGRAMS = {
  'send.mjs': `import { Analytics } from 'trackpost'\nimport { FileSpool } from 'trackpost/spool'\n${body}`,
  'send.cjs': `const { Analytics } = require('trackpost')\nconst { FileSpool } = require('trackpost/spool')\nvoid (async () => {${body}})()`,
}

try {
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(project, name), text)
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  // On Windows, npm is a script that only a shell can run.
  const files = tarballs.map((name) => join(packed, name))
  execFileSync('npm', ['install', ...flags, ...files], {
    cwd: project,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  const { startCollector } = createRequire(join(project, 'send.cjs'))('trackpost-collector')
  const collector = await startCollector({ port: 0 })
  const run = async (...args) => {
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project })
    return stdout.trim()
  }
  assert.equal(await run('send.mjs', collector.url, 'From a module'), '1')
  assert.equal(await run('send.cjs', collector.url, 'From CommonJS'), '1')
  await run(
    'node_modules/trackpost-cli/bin/trackpost.js',
    ...[
      'send',
      'track',
      '--user-id',
      'ada',
      '--event',
      'From the command line',
      '--write-key',
      'k',
      '--host',
      collector.url,
    ],
  )
  for (const event of ['From a module', 'From CommonJS', 'From the command line'])
    assert.equal((await collector.waitFor({ event })).length, 1)
  await collector.close()
  console.log(
    `${tarballs.join(', ')}: installed and used on ${process.platform} with Node.js ${process.version}`,
  )
} finally {
  rmSync(project, { recursive: true, force: true, maxRetries: 5 })
}
