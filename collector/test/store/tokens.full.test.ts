import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newFolder } from '../support/process.ts'
import { expectSharedTokens, oauthConfig, startSeveral, tokenOf } from '../support/several.ts'

const newFile = () => `${newFolder()}/events.db`

test('processes on one file: all accept a token of one of them, even after restarts, until one of them revokes it', async () => {
  const file = newFile()
  await expectSharedTokens(() => startSeveral(2, '--store', file, '--config', oauthConfig()))
})

test('a database file contains a token key only if a token was issued', async () => {
  const file = newFile()
  const [plain] = await startSeveral(1, '--store', file)
  expect((await fetch(`${plain.url}/api/tokens`, { method: 'DELETE' })).status).toBe(404)
  plain.child.kill('SIGTERM')
  await plain.ended
  expect(readFileSync(file).includes('"secret"')).toBe(false)

  const [one] = await startSeveral(1, '--store', file, '--config', oauthConfig())
  await tokenOf(one)
  one.child.kill('SIGTERM')
  await one.ended
  expect(readFileSync(file).includes('"secret"')).toBe(true)
})
