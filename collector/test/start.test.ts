import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('until its first event, a collector with a config loads only the package of the database', () => {
  const built = fileURLToPath(new URL('../dist/index.cjs', import.meta.url))
  const program = `(async () => {
    const { startCollector } = require(${JSON.stringify(built)})
    const collector = await startCollector({ port: 0, config: { rate: 5 } })
    await fetch(collector.url + '/v1/t', { method: 'POST', body: '{"writeKey":"k","userId":"u","event":"e"}' })
    await collector.waitFor({ event: 'e' })
    await collector.close()
    console.log(JSON.stringify(Object.keys(require.cache)))
  })()`
  const paths: string[] = JSON.parse(
    execFileSync(process.execPath, ['--eval', program], { encoding: 'utf8' }),
  )
  const packages = paths.flatMap((path) => /.*node_modules[/\\]((?:@[^/\\]+.)?[^/\\]+)/.exec(path)?.[1] ?? [])

  // The packages of which the native database consists.
  const database = ['@photostructure/sqlite', 'node-gyp-build', 'node-addon-api']
  expect(packages.filter((name) => !database.some((part) => name.startsWith(part)))).toEqual([])
  expect(packages).toContain('@photostructure/sqlite')
})
