import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { postPlain, track } from '../support.ts'
import { assertion, config, requestToken } from './oauth.ts'
import { newFolder, type Running, start } from './process.ts'

/** Returns the path of a config with an OAuth application whose tokens are valid for an hour. */
export function oauthConfig(more: object = {}): string {
  const path = join(newFolder(), 'config.json')
  writeFileSync(path, JSON.stringify({ ...config, oauth: { ...config.oauth, tokenLifetime: 3600 }, ...more }))
  return path
}

export async function startSeveral(
  count: number,
  ...args: string[]
): Promise<[Running, Running, ...Running[]]> {
  const started = Array.from({ length: count }, () => start([...args, '--port', '0']))
  return (await Promise.all(started)) as [Running, Running, ...Running[]]
}

async function killAll(...processes: Running[]): Promise<void> {
  for (const { child } of processes) child.kill('SIGKILL')
  await Promise.all(processes.map(({ ended }) => ended))
}

export async function tokenOf(at: Pick<Running, 'url'>): Promise<string> {
  const token = await requestToken(at, await assertion(at, { nowMs: Date.now() }))
  expect(token).toMatchObject({ status: 200 })
  return token.access_token ?? ''
}

export async function send(at: Pick<Running, 'url'>, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await postPlain(at, '/v1/track', track({ writeKey: 'shop-key' }), headers)).status
}

/** Checks that processes with shared state accept each other's tokens, even after restarts, until a token is revoked. */
export async function expectSharedTokens(
  newProcesses: () => Promise<[Running, Running, ...Running[]]>,
): Promise<void> {
  const [one, two] = await newProcesses()
  const first = await tokenOf(one)
  expect([await send(one, first), await send(two, first)]).toEqual([200, 200])

  const revoked = await fetch(`${one.url}/api/tokens`, { method: 'DELETE' })
  expect(revoked.status).toBe(200)
  expect(await send(one, first)).toBe(401)
  await expect.poll(() => send(two, first), { interval: 50 }).toBe(401)

  const second = await tokenOf(one)
  expect(await send(two, second)).toBe(200)
  await killAll(one)
  expect(await send(two, second)).toBe(200)
  await killAll(two)

  const [three, four] = await newProcesses()
  expect([await send(three, second), await send(four, second), await send(four, first)]).toEqual([
    200, 200, 401,
  ])
}

/**
 * Exchanges an assertion for a token. Like any client, it repeats the request after a 503, which a process sends if it could
 * not read the shared state in time. Only the repeated request shows whether the assertion would get a second token.
 */
async function exchange(process: Running, one: string) {
  let response = await requestToken(process, one)
  while (response.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    response = await requestToken(process, one)
  }
  return response
}

export async function expectAssertionsUsedOnce(
  processes: readonly Running[],
  audience: string,
): Promise<void> {
  const assertions = await Promise.all(
    Array.from({ length: 10 }, () => assertion({ url: audience }, { nowMs: Date.now() })),
  )
  const responses = await Promise.all(
    assertions.map((one) => Promise.all(processes.map((process) => exchange(process, one)))),
  )
  const expected = processes.map((_, index) => (index === 0 ? 200 : 401))
  expect(responses.map((some) => some.map(({ status }) => status).sort())).toEqual(
    responses.map(() => expected),
  )
}
