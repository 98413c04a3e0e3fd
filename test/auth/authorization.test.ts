import { expect, test, vi } from 'vitest'
import { type Authorization, createAuthorization, LazyAuthorization } from '../../src/auth/authorization.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

const TOKENS: Authorization = {
  authorization: () => 'Bearer token',
  accepted() {},
  renew: () => true,
  close() {},
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

test('close before the code is loaded closes it', async () => {
  const close = vi.fn()
  let load = (): void => {}
  const loading = new Promise<void>((resolve) => {
    load = resolve
  })
  const credentials = new LazyAuthorization(() => loading.then(() => ({ ...TOKENS, close })))

  credentials.close()
  load()
  await settled()

  expect(close).toHaveBeenCalledTimes(1)
})

test('when the code cannot be loaded, who asks is told, and later calls load it again', async () => {
  let loads = 0
  const credentials = new LazyAuthorization(async () => {
    if (loads++ === 0) throw new Error('Cannot find module')
    return TOKENS
  })

  expect(await credentials.authorization()).toMatchObject({
    word: 'failed',
    error: { code: 'auth', message: 'the code for OAuth could not be loaded: Cannot find module' },
  })
  expect(await credentials.authorization()).toBe('Bearer token')
})
