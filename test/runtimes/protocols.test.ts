import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import { listen } from '../support/loopback.ts'
import { runtime } from '../support/runtimes.ts'

const TLS = fileURLToPath(new URL('../support/tls/', import.meta.url))

const PROGRAM = `
const { Analytics, FetchHTTPClient } = require('trackpost')
const httpClient = process.env.USES_FETCH ? new FetchHTTPClient() : undefined
const analytics = new Analytics({ writeKey: 'wk', host: process.env.API, maxRetries: 0, httpClient })
analytics.on('error', ({ reason }) => console.error(reason))
analytics.track({ userId: 'u', event: 'Commande passée' })
analytics.closeAndFlush({ timeout: 5000 }).then((summary) => console.log(JSON.stringify(summary)))
`

let project: Project

beforeAll(async () => {
  project = await createProject()
  await project.write('program.cjs', PROGRAM)
}, 300_000)
afterAll(() => project?.remove())

function run(node: number, flags: string[], env: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    const args = [...flags, join(project.folder, 'program.cjs')]
    const options = { env: { PATH: '/usr/bin:/bin', NODE_NO_WARNINGS: '1', ...env } }
    execFile(runtime(`node-${node}`), args, options, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
}

const DELIVERED = `${JSON.stringify({ delivered: 1, failed: 0, pending: 0 })}\n`

// Only Node.js 26 has a `fetch` that supports HTTP/2.
test('on Node.js 26 a service with only HTTP/2 gets its events over fetch', async () => {
  const versions: string[] = []
  const server = createSecureServer(
    {
      key: readFileSync(join(TLS, 'localhost-key.pem')),
      cert: readFileSync(join(TLS, 'localhost.pem')),
      allowHTTP1: false,
    },
    (request, response) => {
      versions.push(request.httpVersion)
      request.resume().on('end', () => response.end('{}'))
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const output = await run(26, [], {
      API: `https://localhost:${(server.address() as AddressInfo).port}`,
      NODE_EXTRA_CA_CERTS: join(TLS, 'localhost.pem'),
      USES_FETCH: '1',
    })

    expect(output).toBe(DELIVERED)
    expect(versions).toEqual(['2.0'])
  } finally {
    server.close()
  }
})

// `--jitless` disables WebAssembly, without which undici cannot parse a response; node:http does not need it. The
// program is CommonJS, since with this flag an ES module cannot import node:http on Node.js 22.
test.each([16, 18, 20, 22, 24, 26])('on Node.js %i events are delivered with --jitless', async (node) => {
  let requests = 0
  const api = await listen((request, response) => {
    requests++
    request.resume().on('end', () => response.end('{}'))
  })
  try {
    const output = await run(node, ['--jitless'], { API: api.url })

    // Node.js 18 to 22 warn that `--jitless` disables another flag.
    expect(output.replace(/Warning: disabling flag .*\n/, '')).toBe(DELIVERED)
    expect(requests).toBe(1)
  } finally {
    await api.close()
  }
})
