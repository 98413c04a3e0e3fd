import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../examples/receiver.mjs'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import type { Loopback } from '../support/loopback.ts'
import { CLIENT_PEM } from '../support/token-server.ts'
import { createProject, type Project } from './project.ts'
import { startTokenServer, TOKEN } from './token-server.ts'

let project: Project
let receiver: Receiver
let tokenServer: Loopback

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())
beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY, token: TOKEN })
  tokenServer = await startTokenServer()
})
afterEach(async () => {
  await Promise.all([receiver.close(), tokenServer.close()])
})

// The flag makes Node.js behave like versions 16 and 18.
test.each(['oauth.mjs', 'oauth.cjs'])(
  '%s gets a token where require() cannot load ES modules',
  async (name) => {
    const path = await project.add(`test/package/consumers/${name}`)

    const exit = await runNode(['--no-experimental-require-module', path], {
      TRACKPOST_WRITE_KEY: WRITE_KEY,
      CLIENT_KEY: CLIENT_PEM,
      TRACKPOST_HOST: receiver.url,
      AUTH_SERVER: tokenServer.url,
    })

    expect(exit).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(exit.stdout)).toEqual({ delivered: 1, failed: 0, pending: 0 })
    expect(receiver.events).toMatchObject([{ type: 'track', properties: { module: name } }])
  },
)
