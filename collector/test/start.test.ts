import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const built = fileURLToPath(new URL('../dist/index.cjs', import.meta.url))

async function packagesLoadedBy(program: string): Promise<string[]> {
  const report = `
    const names = Object.keys(require.cache).flatMap((path) => /.*node_modules[/\\\\\\\\]((?:@[^/\\\\\\\\]+.)?[^/\\\\\\\\]+)/.exec(path)?.[1] ?? [])
    console.log(JSON.stringify([...new Set(names)].sort()))`
  const text = `(async () => { const { startCollector } = require(${JSON.stringify(built)});${program};${report} })()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', text])
  return JSON.parse(stdout)
}

test('a collector without a config loads only the package of the database', async () => {
  const loaded = await packagesLoadedBy(`
    const collector = await startCollector({ port: 0 })
    await fetch(collector.url + '/v1/t', { method: 'POST', body: '{"writeKey":"k","userId":"u","event":"e"}' })
    await collector.waitFor({ event: 'e' })
    await collector.close()`)

  // The packages of which the native database consists.
  const database = ['@photostructure/sqlite', 'node-gyp-build', 'node-addon-api']
  expect(loaded.filter((name) => !database.some((part) => name.startsWith(part)))).toEqual([])
  expect(loaded).toContain('@photostructure/sqlite')
})

test('a config needs no other packages, because the library that checks it is bundled', async () => {
  const loaded = await packagesLoadedBy(`
    const collector = await startCollector({ port: 0, config: { rate: 5 } })
    await collector.close()`)

  expect(loaded).toContain('@photostructure/sqlite')
  expect(loaded).not.toContain('zod')
})
