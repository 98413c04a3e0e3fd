import { expect, test } from 'vitest'
import { createCredentials, LazyCredentials, type TokenCredentials } from '../../src/auth/credentials.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import { FetchHTTPClient } from '../../src/http/fetch-client.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

function recorded(): TokenCredentials & { readonly calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    authorization() {
      calls.push('authorization')
      return 'Bearer token'
    },
    tryOnce() {
      calls.push('try')
      return 'Bearer trial'
    },
    onAccepted: (authorization) => calls.push(`accepted ${authorization}`),
    onUnauthorized(authorization) {
      calls.push(`unauthorized ${authorization}`)
      return true
    },
    abort: () => calls.push('abort'),
    close: () => calls.push('close'),
  }
}

test('the write key is the user name of Basic authentication, with an empty password', () => {
  const settings = resolveSettings({ writeKey: 'wk_Zurich_7Qm4' })
  const credentials = createCredentials(settings, new FetchHTTPClient(), 'agent', new FakeClock())

  expect(credentials).toMatch(/^Basic /)
  expect(Buffer.from(String(credentials).slice(6), 'base64').toString()).toBe('wk_Zurich_7Qm4:')
})

test('the credentials are created once, and every call is passed on to them', async () => {
  const loaded = recorded()
  let made = 0
  const credentials = new LazyCredentials(async () => {
    made++
    return loaded
  })

  expect(await Promise.all([credentials.authorization(), credentials.authorization()])).toEqual([
    'Bearer token',
    'Bearer token',
  ])
  expect(credentials.authorization()).toBe('Bearer token')
  credentials.onAccepted('Bearer token')
  expect(credentials.onUnauthorized('Bearer token')).toBe(true)
  credentials.abort()
  credentials.close()

  expect(made).toBe(1)
  expect(loaded.calls.slice(3)).toEqual([
    'accepted Bearer token',
    'unauthorized Bearer token',
    'abort',
    'close',
    'abort',
  ])
})

test('the code for OAuth is loaded at construction: later, the process may have no free file descriptor to read it', async () => {
  const loaded = recorded()
  let isReadable = true
  const credentials = new LazyCredentials(async () => {
    if (!isReadable) throw new Error('EMFILE: too many open files')
    return loaded
  })
  isReadable = false

  expect(await credentials.authorization()).toBe('Bearer token')
  expect(loaded.calls).toEqual(['authorization'])
})

test('calls before the code is loaded do nothing, and a failed load causes no unhandled rejection', async () => {
  const credentials = new LazyCredentials(() => {
    throw new Error('Cannot find module')
  })

  credentials.onAccepted('Bearer token')
  credentials.abort()

  expect(credentials.onUnauthorized('Bearer token')).toBe(false)
  await settled()
})

test.each(['abort', 'close'] as const)(
  '%s ends the wait for the code at once, and no token is requested later',
  async (end) => {
    const loaded = recorded()
    let load = (): void => {}
    const loading = new Promise<void>((resolve) => {
      load = resolve
    })
    const credentials = new LazyCredentials(() => loading.then(() => loaded))
    const waiting = credentials.authorization() as Promise<string>

    credentials[end]()

    await expect(waiting).rejects.toBeInstanceOf(DeliveryError)
    load()
    await settled()
    expect(loaded.calls).not.toContain('authorization')
    expect(loaded.calls).toEqual(end === 'close' ? ['close'] : [])
  },
)

test('when the code cannot be loaded, the waiting calls reject, and later calls load it again', async () => {
  let loads = 0
  const credentials = new LazyCredentials(async () => {
    if (loads++ === 0) throw new Error('Cannot find module')
    return recorded()
  })

  await expect(credentials.authorization()).rejects.toMatchObject({
    code: 'auth',
    message: 'the code for OAuth could not be loaded: Cannot find module',
  })
  expect(await credentials.authorization()).toBe('Bearer token')
})

test('a trial (tryOnce) loads the code, and makes no other call', async () => {
  const loaded = recorded()
  const credentials = new LazyCredentials(async () => loaded)

  expect(await credentials.tryOnce()).toBe('Bearer trial')
  expect(loaded.calls).toEqual(['try'])
})

test('a trial after a failed load, or after close, rejects', async () => {
  const broken = new LazyCredentials(() => Promise.reject(new Error('no such chunk')))
  const closed = new LazyCredentials(async () => recorded())
  closed.close()

  await expect(broken.tryOnce()).rejects.toThrow('could not be loaded: no such chunk')
  await expect(closed.tryOnce()).rejects.toThrow('the client was closed')
})
