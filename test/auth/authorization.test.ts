import { expect, test } from 'vitest'
import { type Authorization, createAuthorization, LazyAuthorization } from '../../src/auth/authorization.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

function recorded(): Authorization & { readonly calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    authorization() {
      calls.push('authorization')
      return 'Bearer token'
    },
    accepted: (authorization) => calls.push(`accepted ${authorization}`),
    renew(authorization) {
      calls.push(`renew ${authorization}`)
      return true
    },
    abort: () => calls.push('abort'),
    close: () => calls.push('close'),
  }
}

test.each(['wk_Zurich_7Qm4', 'id:secret'])(
  'the write key %s and a colon are the Basic credentials, with an empty password',
  (writeKey) => {
    const settings = resolveSettings({ writeKey })
    const credentials = createAuthorization(settings, new FetchHTTPClient(), 'agent', new FakeClock())

    expect(credentials).toMatch(/^Basic /)
    expect(Buffer.from(String(credentials).slice(6), 'base64').toString()).toBe(`${writeKey}:`)
  },
)

test('the code for tokens is loaded once, at construction, and every call is passed on', async () => {
  const loaded = recorded()
  let loads = 0
  const credentials = new LazyAuthorization(async () => {
    loads++
    return loaded
  })
  expect(loads).toBe(1)

  expect(await Promise.all([credentials.authorization(), credentials.authorization()])).toEqual([
    'Bearer token',
    'Bearer token',
  ])
  expect(credentials.authorization()).toBe('Bearer token')
  credentials.accepted('Bearer token')
  expect(credentials.renew('Bearer token')).toBe(true)
  credentials.abort()
  credentials.close()

  expect(loads).toBe(1)
  expect(loaded.calls.slice(3)).toEqual(['accepted Bearer token', 'renew Bearer token', 'abort', 'close'])
})

test('close before the code is loaded closes it', async () => {
  const loaded = recorded()
  let load = (): void => {}
  const loading = new Promise<void>((resolve) => {
    load = resolve
  })
  const credentials = new LazyAuthorization(() => loading.then(() => loaded))

  credentials.close()
  load()
  await settled()

  expect(loaded.calls).toEqual(['close'])
})

test('when the code cannot be loaded, who asks is told, and later calls load it again', async () => {
  let loads = 0
  const credentials = new LazyAuthorization(async () => {
    if (loads++ === 0) throw new Error('Cannot find module')
    return recorded()
  })

  expect(await credentials.authorization()).toMatchObject({
    word: 'failed',
    error: { code: 'auth', message: 'the code for OAuth could not be loaded: Cannot find module' },
  })
  expect(await credentials.authorization()).toBe('Bearer token')
})
