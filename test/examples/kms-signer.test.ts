import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Loopback } from '../support/loopback.ts'
import { type ReceivedMessage, startService } from '../support/service.ts'
import { CLIENT_ID, CLIENT_PEM, KEY_ID, TokenServer } from '../support/token-server.ts'
import { examplePath, runNode, WRITE_KEY } from './run-node.ts'

let tokens: TokenServer
let api: Loopback
let folder: string
let batches: (readonly ReceivedMessage[])[]

beforeEach(async () => {
  batches = []
  tokens = await TokenServer.start()
  api = await startService(({ headers, batch }) => {
    batches.push(batch)
    return tokens.accepts(headers.authorization) ? 200 : 401
  })
  folder = await mkdtemp(join(tmpdir(), 'trackpost-kms-'))
})
afterEach(async () => {
  await api.close()
  await tokens.close()
  await rm(folder, { recursive: true })
})

test('an event is sent with a token whose assertion another process has signed', async () => {
  const keyFile = join(folder, 'key.pem')
  await writeFile(keyFile, CLIENT_PEM, { mode: 0o600 })

  const exit = await runNode([examplePath('kms-signer.mjs')], {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    CLIENT_ID,
    KEY_ID,
    KEY_FILE: keyFile,
    AUTH_SERVER: tokens.url,
    TRACKPOST_HOST: api.url,
  })

  expect(exit).toEqual({ code: 0, signal: null, stdout: 'delivered: 1, failed: 0\n', stderr: '' })
  expect([tokens.refusals, tokens.issued.length]).toEqual([[], 1])
  expect(batches).toMatchObject([[{ event: 'Invoice Paid' }]])
})
