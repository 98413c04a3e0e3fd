import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../examples/receiver.mjs'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import { createProject, type Project } from './project.ts'

const TOKEN = 'an-access-token'
const CLIENT_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}).privateKey

let project: Project
let receiver: Receiver
let tokenServer: Server

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())
beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY, token: TOKEN })
  tokenServer = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', expires_in: 3_600 }))
    })
  }).listen(0, '127.0.0.1')
  await once(tokenServer, 'listening')
})
afterEach(async () => {
  tokenServer.closeAllConnections()
  tokenServer.close()
  await receiver.close()
})

// The flag makes Node.js behave like versions 16 and 18.
test.each(['oauth.mjs', 'oauth.cjs'])(
  '%s gets a token where require() cannot load ES modules',
  async (name) => {
    const path = await project.add(`test/package/consumers/${name}`)

    const exit = await runNode(['--no-experimental-require-module', path], {
      TRACKPOST_WRITE_KEY: WRITE_KEY,
      CLIENT_KEY,
      TRACKPOST_HOST: receiver.url,
      AUTH_SERVER: `http://127.0.0.1:${(tokenServer.address() as AddressInfo).port}`,
    })

    expect(exit).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(exit.stdout)).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(receiver.events).toMatchObject([{ type: 'track', properties: { module: name } }])
  },
)
