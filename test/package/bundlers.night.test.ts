import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import { build as buildWithVite } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import webpack from 'webpack'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import type { Loopback } from '../support/loopback.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { CLIENT_PEM } from '../support/token-server.ts'
import { createProject, type Project, runTool } from './project.ts'
import { startTokenServer, TOKEN } from './token-server.ts'

let project: Project
let receiver: Receiver
let tokenServer: Loopback

beforeAll(async () => {
  project = await createProject()
  receiver = await startReceiver({ writeKey: WRITE_KEY, token: TOKEN })
  tokenServer = await startTokenServer()
})
afterAll(async () => {
  await Promise.all([tokenServer?.close(), receiver?.close(), project?.remove()])
})

type Bundle = (entry: string, folder: string) => Promise<string>

const IMPORT = "import { Analytics } from 'trackpost'"
const PROGRAM = `
const { TRACKPOST_WRITE_KEY: writeKey, TRACKPOST_HOST: host, CLIENT_KEY: clientKey, AUTH_SERVER: authServer } = process.env
const oauthSettings = { clientId: 'client-1', keyId: 'key-1', clientKey, authServer }
const analytics = new Analytics({ writeKey, host, oauthSettings })
analytics.track({ userId: 'user-1042', event: 'Café Opened' })
`
const THEN = `${PROGRAM}analytics.closeAndFlush().then((summary) => console.log(JSON.stringify(summary)))`
const SOURCES = {
  'oauth.mjs': `${IMPORT}${PROGRAM}console.log(JSON.stringify(await analytics.closeAndFlush()))`,
  'oauth.cjs': `const { Analytics } = require('trackpost')${THEN}`,
  'oauth-then.mjs': IMPORT + THEN,
}

/** The functions return the path of the main file. docs/self-hosted.md documents the setting for rollup. */
const BUNDLERS: Record<string, { readonly source: keyof typeof SOURCES; readonly bundle: Bundle }> = {
  esbuild: { source: 'oauth.mjs', bundle: esbuildTo('esm', 'main.mjs') },
  'esbuild, to CommonJS': { source: 'oauth.cjs', bundle: esbuildTo('cjs', 'main.cjs') },
  rollup: {
    // Rollup puts inlined modules after the entry: at a top-level await they would not have run yet. So this program
    // uses `then`.
    source: 'oauth-then.mjs',
    async bundle(entry, folder) {
      const bundle = await rollup({ input: entry, plugins: [nodeResolve()], external: [/^node:/] })
      await bundle.write({
        dir: folder,
        entryFileNames: 'main.mjs',
        format: 'es',
        inlineDynamicImports: true,
      })
      return join(folder, 'main.mjs')
    },
  },
  webpack: {
    source: 'oauth.mjs',
    bundle: (entry, folder) => runWebpack(entry, folder, 'main.cjs'),
  },
  ncc: {
    source: 'oauth.cjs',
    async bundle(entry, folder) {
      const { code, output } = await runTool(
        'ncc',
        ['build', entry, '--minify', '--out', folder],
        project.folder,
      )
      if (code !== 0) throw new Error(output)
      return join(folder, (await readdir(folder)).find((name) => /^index\.c?js$/.test(name)) ?? '')
    },
  },
}

function esbuildTo(format: 'esm' | 'cjs', name: string): Bundle {
  return async (entry, folder) => {
    const outfile = join(folder, name)
    await build({ entryPoints: [entry], bundle: true, platform: 'node', format, minify: true, outfile })
    return outfile
  }
}

function runWebpack(entry: string, path: string, filename: string): Promise<string> {
  return new Promise((resolve, reject) => {
    webpack({ entry, target: 'node', mode: 'production', output: { path, filename } }, (error, stats) => {
      if (error !== null || stats?.hasErrors()) reject(error ?? new Error(stats?.toString()))
      else resolve(join(path, filename))
    })
  })
}

test.each(Object.entries(BUNDLERS))(
  '%s: a program with OAuth is bundled into one file, which runs alone',
  async (name, { source, bundle }) => {
    const entry = await project.write(source, SOURCES[source])
    const folder = join(project.folder, `bundle-${name.replace(/\W+/g, '-')}`)
    await mkdir(folder)
    const main = await bundle(entry, folder)
    const alone = await mkdtemp(join(tmpdir(), 'trackpost-bundle-'))
    receiver.events.length = 0
    try {
      const file = join(alone, main.endsWith('.mjs') ? 'main.mjs' : 'main.cjs')
      await copyFile(main, file)
      expect(await readFile(file, 'utf8')).not.toMatch(/require\("trackpost"\)|from ?"trackpost"/)

      const exit = await runNode([file], {
        TRACKPOST_WRITE_KEY: WRITE_KEY,
        CLIENT_KEY: CLIENT_PEM,
        TRACKPOST_HOST: receiver.url,
        AUTH_SERVER: tokenServer.url,
      })

      expect(exit).toMatchObject({ code: 0, stderr: '' })
      expect(JSON.parse(exit.stdout)).toEqual({ delivered: 1, failed: 0, pending: 0 })
      expect(receiver.events).toMatchObject([{ type: 'track', event: 'Café Opened' }])
    } finally {
      await rm(alone, { recursive: true })
    }
  },
)

test.each([
  ['trackpost', 'trackpost/node'],
  ['trackpost/node', 'trackpost'],
])('a program that imports %s, then %s, runs after esbuild has split it into files', async (...entries) => {
  const text = `import * as one from '${entries[0]}'
import * as other from '${entries[1]}'
const { Analytics, NodeHTTPClient } = { ...one, ...other }
const { TRACKPOST_WRITE_KEY: writeKey, TRACKPOST_HOST: host } = process.env
const analytics = new Analytics({ writeKey, host, httpClient: new NodeHTTPClient() })
analytics.track({ userId: 'user-1042', event: 'Café Opened' })
console.log(JSON.stringify(await analytics.closeAndFlush()))`
  const outdir = join(project.folder, `split-${entries.join('-').replace(/\W+/g, '-')}`)
  const path = await project.write('split.mjs', text)
  await build({
    entryPoints: { main: path },
    bundle: true,
    platform: 'node',
    format: 'esm',
    splitting: true,
    outdir,
    outExtension: { '.js': '.mjs' },
  })

  const exit = await runNode([join(outdir, 'main.mjs')], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
  })

  expect(exit).toMatchObject({ code: 0, stderr: '', stdout: '{"delivered":1,"failed":0,"pending":0}\n' })
})

/** The functions use the usual settings for an edge runtime, and return the path of the main file. */
const EDGE_BUNDLERS: Record<string, Bundle> = {
  async rollup(entry, folder) {
    const bundle = await rollup({ input: entry, plugins: [nodeResolve({ exportConditions: ['workerd'] })] })
    await bundle.write({ dir: folder, entryFileNames: 'main.mjs', inlineDynamicImports: true })
    return join(folder, 'main.mjs')
  },
  async vite(entry, folder) {
    await buildWithVite({
      configFile: false,
      logLevel: 'silent',
      ssr: { target: 'webworker', noExternal: true, resolve: { conditions: ['edge-light'] } },
      build: { ssr: entry, outDir: folder, rollupOptions: { output: { entryFileNames: 'main.mjs' } } },
    })
    return join(folder, 'main.mjs')
  },
  webpack: (entry, path) =>
    new Promise((resolve, reject) => {
      const output = { path, filename: 'main.mjs', module: true, library: { type: 'module' } }
      const experiments = { outputModule: true }
      webpack({ entry, target: 'webworker', mode: 'production', output, experiments }, (error, stats) => {
        if (error !== null || stats?.hasErrors()) reject(error ?? new Error(stats?.toString()))
        else resolve(join(path, 'main.mjs'))
      })
    }),
}

test.each(Object.entries(EDGE_BUNDLERS))(
  '%s: a bundle for an edge runtime delivers without modules of Node.js',
  async (name, bundle) => {
    const text = `import { Analytics } from 'trackpost'
import { sample } from 'trackpost/plugins'
export async function send(settings) {
  const analytics = new Analytics(settings)
  await analytics.register(sample({ rate: 1 }))
  analytics.track({ userId: 'user-1042', event: 'Café Opened' })
  return analytics.closeAndFlush()
}`
    const entry = await project.write('edge-worker.mjs', text)
    const folder = join(project.folder, `edge-${name}`)
    await mkdir(folder)
    receiver.events.length = 0

    const main = await bundle(entry, folder)

    const texts = await Promise.all(
      (await readdir(folder, { recursive: true }))
        .filter((path) => path.endsWith('js'))
        .map((path) => readFile(join(folder, path), 'utf8')),
    )
    expect(texts.length).toBeGreaterThan(0)
    expect(texts.join('\n')).not.toMatch(/\b(?:from|import|require)\s*\(?\s*["'](?:node:|#)/)
    const { send } = (await import(main)) as { send(settings: object): Promise<object> }
    expect(await send({ writeKey: WRITE_KEY, host: receiver.url })).toEqual({
      delivered: 1,
      failed: 0,
      pending: 0,
    })
    expect(receiver.events).toMatchObject([{ event: 'Café Opened' }])
  },
)
