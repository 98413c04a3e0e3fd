import { DiscardPolicy, jetstreamManager, StorageType, type StreamConfig } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { describeTokenMemory } from 'trackpost-collector/conformance'
import { expect, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { assertion, requestToken } from '../../../collector/test/support/oauth.ts'
import { newFolder } from '../../../collector/test/support/process.ts'
import {
  expectAssertionsUsedOnce,
  expectSharedTokens,
  oauthConfig,
  send,
  startSeveral,
  tokenOf,
} from '../../../collector/test/support/several.ts'
import { openLog } from '../../src/nats/open.ts'
import { startNats, natsTest as test } from '../support/nats.ts'

const AUDIENCE = 'https://events.example.com'
const log = { maxBytes: 50_000_000 }

describeTokenMemory({ expect, test }, async () => {
  const { url } = await startNats()
  const open = async () => {
    const parts = { settings: log, clock: systemClock, onFault: () => {} }
    const opened = await openLog(url, parts)
    onTestFinished(() => opened.close())
    return opened.tokens
  }
  return { first: await open(), second: await open() }
})

async function openTokens(url: string, settings: object = {}) {
  const notes: string[] = []
  const onFault = (what: string, cause: unknown) => notes.push(`${what}: ${(cause as Error).message}`)
  const opened = await openLog(url, { settings: { ...log, ...settings }, clock: systemClock, onFault })
  onTestFinished(() => opened.close())
  return { tokens: opened.tokens, notes }
}

async function openManaged() {
  const { url } = await startNats()
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  let seen = 0
  connection.subscribe('$JS.API.STREAM.MSG.GET.>', { callback: () => void seen++ })
  const reads = async () => {
    // The response to this request comes after the copies of all earlier requests of other clients.
    await connection.flush()
    return seen
  }
  await reads()
  const timers = vi.spyOn(systemClock, 'setTimer')
  onTestFinished(() => timers.mockRestore())
  /** Resolves when requests have been repeated after waits of 50 ms. */
  const repeated = () =>
    expect.poll(() => timers.mock.calls.filter(([, delayMs]) => delayMs === 50).length).toBeGreaterThan(1)
  return { url, connection, manager: await jetstreamManager(connection), reads, repeated }
}

const soon = () => Date.now() + 60_000

const unsafe: Array<[string, Partial<StreamConfig>, RegExp]> = [
  ['in memory', { storage: StorageType.Memory }, /has other limits: expected storage file, found memory$/],
  [
    'with an age limit',
    { max_age: 2_000_000_000, duplicate_window: 1_000_000_000 },
    /has other limits: expected .*ttl.*, found 2000 ms$/,
  ],
  [
    'that drops old values',
    { discard: DiscardPolicy.Old },
    /has other limits: expected discard new, found old$/,
  ],
]

test.each(unsafe)(
  'a bucket %s is refused, and is created again when somebody has deleted it',
  async (_what, limits, reason) => {
    const { url, connection, manager } = await openManaged()
    for (const name of ['trackpost-keys', 'trackpost-assertions']) {
      await new Kvm(connection).create(`${name}-model`, { history: 1 })
      const { config } = await manager.streams.info(`KV_${name}-model`)
      await manager.streams.add({ ...config, name: `KV_${name}`, subjects: [`$KV.${name}.>`], ...limits })
    }
    const { tokens } = await openTokens(url)

    await expect(tokens.assertions.use('a', soon(), Date.now())).rejects.toThrow(reason)
    await expect(tokens.tokenKeys.read()).rejects.toThrow(reason)
    for (const name of ['trackpost-keys', 'trackpost-assertions']) await manager.streams.delete(`KV_${name}`)

    expect(await tokens.assertions.use('a', soon(), Date.now())).toBe(true)
    expect(await tokens.tokenKeys.read()).toBeUndefined()
  },
)

test('a write to a bucket that does not take writes yet is repeated, without reading the bucket', async () => {
  const { url, manager, reads, repeated } = await openManaged()
  const { tokens } = await openTokens(url)
  expect(await tokens.assertions.use('a', soon(), Date.now())).toBe(true)
  const { config } = await manager.streams.info('KV_trackpost-assertions')
  await manager.streams.delete('KV_trackpost-assertions')

  const used = tokens.assertions.use('b', soon(), Date.now())
  await repeated()
  await manager.streams.add(config)

  expect(await used).toBe(true)
  expect(await reads()).toBe(0)
})

test('a bucket is not read before it takes writes', async () => {
  const { url, connection, manager, reads, repeated } = await openManaged()
  await new Kvm(connection).create('model', { history: 1 })
  const { config } = await manager.streams.info('KV_model')
  // Without its subjects, the stream is there, but gets no writes.
  await manager.streams.add({ ...config, name: 'KV_trackpost-keys', subjects: ['elsewhere'] })
  const { tokens } = await openTokens(url)

  const keys = tokens.tokenKeys.read()
  await repeated()
  expect(await reads()).toBe(0)
  await manager.streams.update('KV_trackpost-keys', { subjects: ['$KV.trackpost-keys.>'] })

  expect(await keys).toBeUndefined()
  await expect.poll(reads).toBe(1)
})

test('a bucket that another process creates at the same time is opened', async () => {
  const { url, manager, repeated } = await openManaged()
  await manager.streams.add({ name: 'other', subjects: ['$KV.trackpost-keys.>'] })
  const { tokens } = await openTokens(url)

  const keys = tokens.tokenKeys.read()
  await repeated()
  await manager.streams.delete('other')

  expect(await keys).toBeUndefined()
})

test('keys that somebody has deleted in NATS count as absent, and can be written again', async () => {
  const { url, connection } = await openManaged()
  const { tokens } = await openTokens(url)
  await tokens.tokenKeys.replace(undefined, 'old')
  await (await new Kvm(connection).open('trackpost-keys')).delete('keys')

  expect(await tokens.tokenKeys.read()).toBeUndefined()
  const version = await tokens.tokenKeys.replace(undefined, 'new')

  expect(await tokens.tokenKeys.read()).toEqual({ text: 'new', version })
})

test('buckets with other replicas than in the settings are reported once', async () => {
  const { url } = await startNats()
  const first = await openTokens(url)
  const use = async ({ tokens }: typeof first, jti: string) => {
    await tokens.tokenKeys.read()
    return tokens.assertions.use(jti, soon(), Date.now())
  }
  expect(await use(first, 'a')).toBe(true)
  expect(first.notes).toEqual([])

  const second = await openTokens(url, { replicas: 3 })
  expect([await use(second, 'a'), await use(second, 'b')]).toEqual([false, true])

  expect(second.notes.filter((note) => note.includes('bucket'))).toEqual(
    ['keys', 'assertions'].map(
      (name) =>
        `the log differs from its settings: log.replicas of the bucket trackpost-${name} is 1, not 3: the bucket was left as it is`,
    ),
  )
})

test('fronts without a store: all accept a token of one of them, even after restarts, until one of them revokes it', async () => {
  const { url } = await startNats()
  await expectSharedTokens(() => startSeveral(2, '--log', url, '--config', oauthConfig({ log })))
})

test('an assertion that is sent to a front and a worker at the same time gets one token, which all accept', async () => {
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

test('while the log is unavailable, tokens are neither issued nor refused; afterwards, earlier tokens are still valid', async () => {
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
