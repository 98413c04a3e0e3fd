import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Loopback } from '../support/loopback.ts'
import type { Running } from '../support/program.ts'
import { startService } from '../support/service.ts'
import { startNode, WRITE_KEY } from './run-node.ts'

let api: Loopback
let service: Running | undefined
let events: string[]
let requested: Promise<unknown>
let isAnswering: boolean

beforeEach(async () => {
  events = []
  isAnswering = true
  api = await startService<{ event: string }>(({ batch }) => {
    events.push(...batch.map(({ event }) => event))
    return isAnswering ? 200 : 'open'
  })
  requested = once(api.server, 'request')
})
afterEach(async () => {
  service?.child.kill('SIGKILL')
  await api.close()
})

/** Resolves when the process has printed `tracked`. `code` runs before the event is tracked. */
async function start(code: string): Promise<Running> {
  const program = `
    import { createRequire } from 'node:module'
    import { Analytics } from 'trackpost'
    import { closeOn } from 'trackpost/node'
    const settings = { writeKey: '${WRITE_KEY}', host: '${api.url}', flushAt: 100 }
    const analytics = new Analytics(settings)
    analytics.on('error', ({ reason }) => console.log(reason.code))
    ${code}
    analytics.track({ userId: 'user-1042', event: 'Order Placed' })
    process.on('SIGUSR2', () => console.log('alive'))
    setInterval(() => {}, 60_000)
    console.log('tracked')`
  service = startNode(['--input-type=module', '-e', program], {})
  await service.prints(/tracked\n/)
  return service
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s delivers the queued events, and ends the process as usual',
  async (signal) => {
    const { child, ended } = await start("closeOn(analytics, ['SIGTERM', 'SIGINT'], { timeout: 30_000 })")

    child.kill(signal)

    expect(await ended).toEqual({ code: null, signal, stdout: 'tracked\n', stderr: '' })
    expect(events).toEqual(['Order Placed'])
  },
)

test('without closeOn the process ends at once, and the event is lost', async () => {
  const { child, ended } = await start('')

  child.kill('SIGTERM')

  expect(await ended).toMatchObject({ signal: 'SIGTERM' })
  expect(events).toEqual([])
})

test('events that cannot be sent before the timeout fail with shutdown_timeout', async () => {
  isAnswering = false
  const { child, ended } = await start("closeOn(analytics, ['SIGTERM'], { timeout: 100 })")

  child.kill('SIGTERM')

  expect(await ended).toMatchObject({ signal: 'SIGTERM', stdout: 'tracked\nshutdown_timeout\n' })
})

test('a second signal ends the process at once', async () => {
  isAnswering = false
  const { child, ended } = await start("closeOn(analytics, ['SIGTERM', 'SIGINT'], { timeout: 0 })")

  child.kill('SIGTERM')
  await requested
  child.kill('SIGINT')

  expect(await ended).toMatchObject({ signal: 'SIGINT', stdout: 'tracked\n' })
})

test.each(['on', 'once'])(
  'when the program has its own handler, added by process.%s, closeOn does not end the process',
  async (add) => {
    const { child, prints, ended } = await start(`
    process.${add}('SIGTERM', () => console.log('host'))
    closeOn(analytics, ['SIGTERM'])
    analytics.on('drained', () => analytics.track({ userId: 'user-1042', event: 'Bye' }, () => process.exit(7)))
    analytics.once('drained', () => process.once('SIGUSR2', () => analytics.flush()))
    `)

    child.kill('SIGTERM')
    await requested
    await prints(/host\n/)
    while (!events.includes('Bye') && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGUSR2')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }

    expect(await ended).toMatchObject({ code: 7, signal: null })
    expect(events).toEqual(['Order Placed', 'Bye'])
  },
)

test('several clients, from several copies of the package, all deliver before the process ends', async () => {
  const { child, ended } = await start(`
    const require = createRequire(process.cwd() + '/')
    const other = new Analytics(settings)
    other.track({ userId: 'user-1042', event: 'Mail Sent' })
    closeOn(analytics, ['SIGTERM'])
    require('trackpost/node').closeOn(other, ['SIGTERM'])`)

  child.kill('SIGTERM')

  expect(await ended).toMatchObject({ signal: 'SIGTERM' })
  expect([...events].sort()).toEqual(['Mail Sent', 'Order Placed'])
})

test('the function that closeOn returns removes its listeners', async () => {
  const { child, ended } = await start(`
    closeOn(analytics, ['SIGTERM', 'SIGINT'])()
    console.log(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT'))`)

  child.kill('SIGTERM')

  expect(await ended).toMatchObject({ signal: 'SIGTERM', stdout: '0\ntracked\n' })
  expect(events).toEqual([])
})

test('signals that cannot be handled are refused', async () => {
  const { child, ended } = await start(`
    for (const signals of [[], 'SIGTERM', ['SIGKILL'], ['SIGTERMINATE'], ['toString']]) {
      try { closeOn(analytics, signals) } catch (error) { console.log(error.name) }
    }`)

  child.kill('SIGTERM')

  expect(await ended).toMatchObject({ stdout: `${'TypeError\n'.repeat(5)}tracked\n` })
})
