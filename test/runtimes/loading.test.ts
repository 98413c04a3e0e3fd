import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import { runtime } from '../support/runtimes.ts'
import { CLIENT_PEM } from '../support/token-server.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

const FILES = {
  'load.mjs': `import { Analytics } from 'trackpost'\nawait (await import('./load.cjs')).default(Analytics)\n`,
  'load.cjs': `
module.exports = async function load(Analytics) {
  const crypto = require('node:crypto')
  const key = process.env.CLIENT_KEY && crypto.createPrivateKey(process.env.CLIENT_KEY)
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const keys = {
    pem: () => process.env.CLIENT_KEY,
    KeyObject: () => key,
    CryptoKey: () => {
      const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
      return crypto.webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
    },
  }
  const clientKey = key && (await keys[process.env.KEY_TYPE || 'pem']())
  const oauthSettings = { clientId: 'client', keyId: 'key', clientKey }
  const httpClient = async () => ({ status: 200, statusText: 'OK', text: async () => '{"access_token":"tok"}' })
  const analytics = new Analytics({
    writeKey: 'wk',
    httpClient,
    ...(process.env.CLIENT_KEY && { oauthSettings }),
  })
  let reason
  analytics.on('error', (error) => {
    reason = error.reason.message
  })
  analytics.track({ userId: 'u', event: 'loaded' })
  const { delivered } = await analytics.closeAndFlush()
  console.log(JSON.stringify({ delivered, reason, crypto: typeof globalThis.crypto }))
}
if (require.main === module) module.exports(require('trackpost').Analytics)
`,
}

async function load(
  file: string,
  withOAuth: boolean,
  node = process.execPath,
  keyType = 'pem',
  args: string[] = [],
) {
  const env = { PATH: '/usr/bin:/bin', KEY_TYPE: keyType, ...(withOAuth && { CLIENT_KEY: CLIENT_PEM }) }
  const output = await new Promise<string>((resolve, reject) => {
    execFile(node, [...args, join(project.folder, file)], { env }, (error, stdout, stderr) => {
      if (error !== null || stderr !== '') reject(new Error(`${error?.message}\n${stderr}`))
      else resolve(stdout)
    })
  })
  return JSON.parse(output) as { delivered: number; reason?: string; crypto: string }
}

describe.each(Object.keys(FILES))('%s', (file) => {
  beforeAll(async () => {
    for (const [name, text] of Object.entries(FILES)) await project.write(name, text)
  })

  // Node.js 16 and 18 have Web Crypto, but no global `crypto`. The client must not create this global.
  test.each(['node-16', 'node-18'])('on %s a token needs no global Web Crypto', async (name) => {
    const node = runtime(name)

    expect(await load(file, false, node)).toEqual({ delivered: 1, crypto: 'undefined' })
    expect(await load(file, true, node)).toEqual({ delivered: 1, crypto: 'undefined' })
  })
})

test.each(['node-16', 'node-18', 'node-22', 'node-26'])('%s signs with any kind of key', async (name) => {
  for (const [file, text] of Object.entries(FILES)) await project.write(file, text)

  for (const keyType of ['pem', 'KeyObject', 'CryptoKey']) {
    expect(await load('load.mjs', true, runtime(name), keyType)).toMatchObject({ delivered: 1 })
  }
})

test.each(['node-20', 'node-22', 'node-24', 'node-26', 'bun', 'deno'])(
  '%s delivers from CommonJS',
  async (name) => {
    for (const [file, text] of Object.entries(FILES)) await project.write(file, text)
    const args = name === 'deno' ? ['run', '-A', '--node-modules-dir=manual'] : []

    expect(await load('load.cjs', false, runtime(name), 'pem', args)).toMatchObject({ delivered: 1 })
  },
)

describe.each([
  ['workerd', ['workerd', 'worker', 'browser']],
  ['worker', ['worker']],
  ['edge-light', ['edge-light']],
  ['browser', ['browser']],
])('with the condition %s', (_, conditions) => {
  test('a bundle needs no module of Node.js, and loads OAuth only with the first token', async () => {
    const entry = await project.write('edge.mjs', `export { Analytics } from 'trackpost'\n`)

    const { metafile, warnings } = await build({
      entryPoints: [entry],
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'neutral',
      conditions,
      outdir: join(project.folder, 'edge'),
      metafile: true,
      logLevel: 'silent',
    })

    expect(warnings).toEqual([])
    const outputs = Object.values(metafile.outputs)
    const first = outputs.find(({ entryPoint }) => entryPoint?.endsWith('edge.mjs'))
    const others = outputs.filter((output) => output !== first)
    const isOAuth = (path: string): boolean => path.includes('/oauth-')
    expect(Object.keys(first?.inputs ?? {}).filter(isOAuth)).toEqual([])
    expect(others.some(({ inputs }) => Object.keys(inputs).some(isOAuth))).toBe(true)
    expect(first?.imports.filter(({ external }) => external)).toEqual([])
  })
})
