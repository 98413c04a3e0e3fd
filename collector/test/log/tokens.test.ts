import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { openLog } from '../../src/log/open.ts'
import { describeTokenMemory } from '../conformance/token-memory.ts'
import { newFolder } from '../ops/process.ts'
import { startNats, natsTest as test } from '../support/nats.ts'
import { assertion, requestToken } from '../support/oauth.ts'
import {
  expectAssertionsUsedOnce,
  expectSharedTokens,
  oauthConfig,
  send,
  startSeveral,
  tokenOf,
} from '../support/several.ts'

const AUDIENCE = 'https://events.example.com'
const log = { maxBytes: 50_000_000 }

describeTokenMemory(async () => {
  const { url } = await startNats()
  const open = async () => {
    const parts = { settings: log, clock: systemClock, onFault: () => {} }
    const opened = await openLog(url, parts)
    onTestFinished(() => opened.close())
    return opened.tokens
  }
  return { first: await open(), second: await open() }
}, test)

test('fronts without a store: a token that one gave, all take, after its death and a restart of all; what one revokes, all refuse', async () => {
  const { url } = await startNats()
  await expectSharedTokens(() => startSeveral(2, '--log', url, '--config', oauthConfig({ log })))
})

test('an assertion that is sent to a front and a worker at the same time buys one token, which all take', async () => {
  const { url } = await startNats()
  const config = oauthConfig({ log, publicUrl: AUDIENCE })
  const store = `${newFolder()}/events.db`
  const [[front], [worker]] = await Promise.all([
    startSeveral(1, '--log', url, '--config', config),
    startSeveral(1, 'work', '--log', url, '--store', store, '--config', config),
  ])

  await expectAssertionsUsedOnce([front, worker], AUDIENCE)
  expect(await send(worker, await tokenOf(front))).toBe(200)
  expect(await send(front, await tokenOf(worker))).toBe(200)
})

test('while the log is away no token is given out, and none is refused; afterwards those of before are good', async () => {
  const server = await startNats()
  const [front] = await startSeveral(1, '--log', server.url, '--config', oauthConfig({ log }))
  const token = await tokenOf(front)

  await server.kill()
  const refused = async () => requestToken(front, await assertion(front, { nowMs: Date.now() }))
  await expect.poll(refused).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  expect(await send(front, token)).toBe(503)
  await server.start()

  await expect.poll(() => send(front, token)).toBe(200)
  expect(await send(front, await tokenOf(front))).toBe(200)
})
