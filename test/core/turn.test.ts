import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TIER } from '../../scripts/tiers.mjs'
import type { Context } from '../../src/pipeline/context.ts'
import type { Plugin } from '../../src/pipeline/plugin.ts'
import { FileSpool } from '../../src/spool/file-spool.ts'
import { filesIn, temporaryDirectory } from '../spool/support.ts'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { silence, status } from '../support/scripted-client.ts'

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? (TIER === 'default' ? 500 : 2_000))
const TYPES = ['before', 'enrichment', 'destination', 'after', 'utility'] as const
const LOADS = ['none', 'sync', 'async', 'failing', 'rejecting', 'hanging'] as const

interface ModelPlugin {
  readonly name: string
  readonly type: (typeof TYPES)[number]
  readonly load: (typeof LOADS)[number]
  readonly isRedacting: boolean
  /** The turn, and the number of the operation, in which it was registered. */
  readonly turn: number
  readonly at: number
  /** The turn in which it was deregistered. */
  deregisteredIn: number
  isLoaded: boolean
  isGone: boolean
  readonly seen: number[]
}

interface ModelEvent {
  readonly turn: number
  readonly at: number
  readonly outcomes: string[]
}

/**
 * Runs a random program, with 0 to 6 microtasks between its calls, and compares what its plugins have seen with docs/spec.md,
 * sections 6 and 7. One in three ends its process in the midst of it: between two calls, or in a callback, a handler, a `load` or a
 * listener.
 *
 * @param directory Of the spool; without one, the client has no spool, and the service accepts everything.
 */
async function runProgram(seed: number, directory?: string): Promise<{ seen: number; ops: string[] }> {
  const clock = new FakeClock(undefined, seed)
  const below = (limit: number): number => Math.floor(clock.random() * limit)
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T
  const spool = directory === undefined ? undefined : new FileSpool(directory)
  const disable = clock.random() < 0.1 && (() => clock.random() < 0.5)
  const settings = { flushAt: pick([1, 3, 100]), maxConcurrentRequests: pick([1, 4]), spool, disable }
  const replies = directory === undefined ? [] : [status(503)]
  const { analytics, client } = createAnalytics(settings, replies, clock)
  analytics.on('warning', () => {})
  const plugins: ModelPlugin[] = []
  const events: ModelEvent[] = []
  const ops: string[] = []
  const faults: string[] = []
  const written: string[] = []
  let closedAt = Number.POSITIVE_INFINITY
  let turn = 1
  let isScheduled = false
  let hasExited = false
  let statsAtExit: typeof analytics.stats | undefined
  /** Behind the microtask of the client: what is called from then on belongs to another turn. */
  const noteTurn = (): void => {
    if (isScheduled) return
    isScheduled = true
    void Promise.resolve().then(() => {
      isScheduled = false
      turn++
    })
  }

  const exit = (): void => {
    hasExited = true
    written.push(...client.requests.map(({ body }) => body))
    endProcess()
    statsAtExit = analytics.stats
    written.push(onDisk())
  }
  const mayExit = (): void => {
    if (end === 'in code' && !hasExited && clock.random() < 0.2) exit()
  }
  const track = (): void => {
    const index = events.length
    const outcomes: string[] = []
    let hasReturned = false
    events.push({ turn, at: ops.length, outcomes })
    const properties = { index, secret: `secret-${index}-of-${seed}.` }
    const userId = clock.random() < 0.1 ? '' : 'ada'
    analytics.track({ userId, event: 'Ordered', properties }, (error) => {
      outcomes.push(error?.code ?? 'delivered')
      if (hasExited) faults.push('a callback was called although the process had ended')
      if (!hasReturned) faults.push('a callback ran inside the call')
      mayExit()
    })
    hasReturned = true
  }
  const register = (): void => {
    const isRedacting = clock.random() < 0.4
    const type = isRedacting ? 'before' : pick(TYPES)
    const name = `plugin ${plugins.length}`
    const model: ModelPlugin = {
      ...{ name, type, load: pick(LOADS), isRedacting, turn, at: ops.length },
      ...{ deregisteredIn: Number.POSITIVE_INFINITY, isLoaded: false, isGone: false, seen: [] },
    }
    ops[ops.length - 1] += ` ${type} ${model.load}${isRedacting ? ' redacting' : ''}`
    plugins.push(model)
    void analytics.register(pluginOf(model, clock, faults, mayExit)).catch(() => {})
  }
  const deregister = (): void => {
    const model = pick(plugins)
    if (model === undefined || model.deregisteredIn < Number.POSITIVE_INFINITY) return
    model.deregisteredIn = turn
    void analytics.deregister(model.name).then(() => {
      model.isGone = true
    })
  }
  const step = (): void => {
    const dice = clock.random()
    const name = dice < 0.5 ? 'track' : dice < 0.75 && plugins.length < 3 ? 'register' : 'other'
    ops.push(name)
    if (name === 'track') track()
    else if (name === 'register') register()
    else if (dice < 0.87) deregister()
    else if (dice < 0.97) void analytics.flush()
    else if (closedAt === Number.POSITIVE_INFINITY) {
      closedAt = ops.length
      void analytics.closeAndFlush()
    }
    if (name !== 'register') noteTurn()
  }
  /** Whether the plugin must have seen the event, if that was delivered, before anything of it was written. */
  const isCovered = (one: ModelPlugin, event: ModelEvent): boolean => {
    const mayLoad = one.load === 'none' || one.load === 'sync' || one.load === 'async'
    if (!mayLoad || one.turn > event.turn || one.at > closedAt || event.at > closedAt) return false
    if (one.deregisteredIn === Number.POSITIVE_INFINITY) return true
    // Of what no event waits for, nothing is called any more when it is removed.
    const isInTime = one.type === 'before' || one.type === 'enrichment'
    return isInTime && event.turn <= one.deregisteredIn
  }
  const onDisk = (): string =>
    directory === undefined
      ? ''
      : filesIn(directory).reduce((text, name) => text + readFileSync(join(directory, name), 'latin1'), '')

  const judgeExit = (): { ops: string[] } => {
    const { accepted, delivered, failed, deferred, pending } = statsAtExit ?? analytics.stats
    if (accepted !== events.length || pending !== 0) faults.push(`${accepted} accepted, ${pending} pending`)
    if (accepted !== delivered + failed + deferred) faults.push('the counts do not add up')
    for (const [index, event] of events.entries()) {
      const secret = `secret-${index}-of-${seed}.`
      const isRedacted = plugins.some(
        (one) => one.isRedacting && one.turn <= event.turn && isCovered(one, event),
      )
      if (isRedacted && written.some((text) => text.includes(secret))) faults.push(`${secret} left`)
    }
    if (faults.length > 0) throw new Error(`program ${seed}, ended: ${faults.join('; ')}\n${ops.join('\n')}`)
    return { ops }
  }
  const dice = clock.random()
  const end = dice < 0.2 ? 'between calls' : dice < 0.4 ? 'in code' : 'never'
  const exitsAfter = end === 'between calls' ? below(12) : Number.POSITIVE_INFINITY
  for (const name of ['error', 'track', 'http_request', 'http_response'] as const) analytics.on(name, mayExit)
  for (let left = 6 + below(12); left > 0 && !hasExited; left--) {
    step()
    if (ops.length > exitsAfter) {
      exit()
      break
    }
    for (let hops = below(7); hops > 0; hops--) await undefined
    if (clock.random() < 0.1) await settled()
  }
  if (hasExited) return { seen: 0, ...judgeExit() }
  written.push(onDisk())
  await clock.advance(30_000)
  if (hasExited) return { seen: 0, ...judgeExit() }
  written.push(onDisk())
  void analytics.closeAndFlush({ timeout: 30_000 })
  await clock.advance(80_000)
  await settled()
  if (hasExited) return { seen: 0, ...judgeExit() }
  // The disk takes real time, which the clock of the test passes at once.
  while (directory !== undefined && clock.timerCount > 0) await settled()
  written.push(onDisk(), ...client.requests.map(({ body }) => body))

  for (const [index, event] of events.entries()) {
    if (event.outcomes.length !== 1) faults.push(`event ${index} has outcomes ${event.outcomes.join()}`)
    for (const one of plugins.filter((plugin) => isCovered(plugin, event))) {
      const isSeen = one.seen.includes(index)
      if (!isSeen && event.outcomes[0] === 'delivered') faults.push(`${one.name} did not see event ${index}`)
      const secret = `secret-${index}-of-${seed}.`
      if (one.isRedacting && written.some((text) => text.includes(secret))) faults.push(`${secret} left`)
    }
  }
  for (const { seen, name } of plugins) {
    if (new Set(seen).size < seen.length) faults.push(`${name} saw an event twice`)
  }
  const { accepted, pending } = analytics.stats
  if (accepted !== events.length || pending !== 0) faults.push(`${accepted} accepted, ${pending} pending`)
  if (clock.timerCount > 0 || clock.holdCount > 0) faults.push(`${clock.timerCount} timers left`)
  if (faults.length > 0) throw new Error(`program ${seed}: ${faults.join('; ')}\n${ops.join('\n')}`)
  return { seen: plugins.reduce((sum, { seen }) => sum + seen.length, 0), ops }
}

/** Calls what this library does when the process exits, and nothing else. */
function endProcess(): void {
  for (const listener of process.listeners('exit')) if (String(listener).includes('onExit')) listener(0)
}

function pluginOf(model: ModelPlugin, clock: FakeClock, faults: string[], mayExit: () => void): Plugin {
  const { name, type, load, isRedacting } = model
  const succeed = (): void => {
    mayExit()
    model.isLoaded = true
  }
  const loads: Record<ModelPlugin['load'], Plugin['load']> = {
    none: undefined,
    sync: succeed,
    async: () => new Promise((resolve) => void clock.setTimer(() => resolve(succeed()), 1_000)),
    failing: () => {
      throw new Error('no')
    },
    rejecting: () => Promise.reject(new Error('no')),
    hanging: () => new Promise(() => {}),
  }
  if (load === 'none') succeed()
  const run = loads[load]
  return {
    ...{ name, type },
    ...(isRedacting ? { onLoadFailure: 'drop' as const } : {}),
    ...(run === undefined ? {} : { load: run }),
    track(ctx: Context) {
      if (!model.isLoaded) faults.push(`${name} ran before its load, or after it had failed`)
      if (model.isGone) faults.push(`${name} ran after it was removed`)
      mayExit()
      model.seen.push(ctx.event.properties?.['index'] as number)
      if (isRedacting) ctx.updateEvent('properties.secret', undefined)
      return ctx
    },
  }
}

test(`F146: in ${RUNS} random programs, each plugin sees the events of its turn, and none before its load`, async () => {
  let seen = 0
  for (let seed = 1; seed <= RUNS; seed++) seen += (await runProgram(seed)).seen

  expect(seen).toBeGreaterThan(RUNS / 2)
})

test('F146: with a spool, nothing that a redacting plugin removes is ever on the disk', async () => {
  let seen = 0
  for (let seed = 1; seed <= RUNS / 10; seed++) {
    seen += (await runProgram(1_000_000 + seed, temporaryDirectory())).seen
  }

  expect(seen).toBeGreaterThan(RUNS / 40)
})

test('a close in the midst of 3,000 passes leaves nothing without an outcome', async () => {
  const { analytics, clock } = createAnalytics({}, [silence])
  analytics.on('error', () => {})
  let told = 0
  const again = (): void => {
    if (++told < 3_000) trackPurchases(analytics, 1, again)
  }
  trackPurchases(analytics, 1)
  const closing = analytics.closeAndFlush({ timeout: 50 })
  trackPurchases(analytics, 1, again)
  await clock.advance(50)
  await closing
  // The passes wait for the real event loop.
  while (analytics.stats.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  let late = 0
  trackPurchases(analytics, 1, () => late++)
  while (late === 0) await new Promise((resolve) => setImmediate(resolve))

  expect([told, late, analytics.stats.pending]).toEqual([3_000, 1, 0])
})

test('a listener that is added in the same turn after calls found no room is told of each of them', async () => {
  const { analytics } = createAnalytics({ maxQueueSize: 2 }, [silence])
  trackPurchases(analytics, 5)
  const codes: string[] = []
  analytics.on('error', ({ code }) => codes.push(code))
  await settled()

  expect(codes).toEqual(['queue_full', 'queue_full', 'queue_full'])
})

test('each of thousands of events that found no room in a turn is told with its context', async () => {
  const { analytics } = createAnalytics({ maxQueueSize: 1 }, [silence])
  let [told, withContext] = [0, 0]
  analytics.on('error', ({ ctx }) => {
    told++
    withContext += Number(ctx !== undefined)
  })
  trackPurchases(analytics, 1_101)
  await settled()

  expect([told, withContext]).toEqual([1_100, 1_100])
})

test('an event that plugins have made too large for the queue fails', async () => {
  const settings = { flushAt: 1, maxConcurrentRequests: 1, maxQueueBytes: 20_000, maxMessageBytes: 10_000 }
  const { analytics } = createAnalytics(settings, [silence])
  await analytics.register({
    name: 'fill',
    type: 'enrichment',
    track: (ctx: Context) => ctx.updateEvent('properties.fill', 'x'.repeat(6_000)),
  })
  const told: string[] = []
  for (const number of [1, 2, 3, 4]) {
    const event = { userId: 'ada', event: 'Filled' }
    analytics.track(event, (error) => told.push(`${number} ${error?.code}`))
    await settled()
  }

  expect(told).toEqual(['4 queue_full'])
  expect(analytics.status).toMatchObject({ queued: 2, inFlight: 1 })
  expect(analytics.stats.pending).toBe(3)
})

test('an event that leaves an asynchronous plugin waits for others like any event', async () => {
  const { analytics, client } = createAnalytics()
  await analytics.register({ name: 'later', type: 'enrichment', track: async (ctx: Context) => ctx })
  trackPurchases(analytics, 1)
  await settled()
  await settled()
  expect(client.requests).toEqual([])
  await analytics.flush()

  expect(client.batchSizes).toEqual([1])
})

test('a full queue makes no call throw, not even with strict', () => {
  const { analytics } = createAnalytics({ maxQueueSize: 1, strict: true })

  expect(() => trackPurchases(analytics, 2)).not.toThrow()
})
