/**
 * Real processes die, one by one and together, and the next processes deliver their events (test/faults/README.md, rows F88,
 * F94, F98).
 */
import type { ChildProcess } from 'node:child_process'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'
import type { Loopback } from '../../support/loopback.ts'
import { startProgram } from '../../support/program.ts'
import { startService } from '../../support/service.ts'
import { filesIn, temporaryDirectory } from '../support.ts'
import { eventOf } from './events.mjs'

const IS_FULL = process.env['TEST_FULL'] === '1'
const ROUNDS = IS_FULL ? 200 : TIER === 'default' ? 5 : 25
/** The number of events of the large backlog. */
const BACKLOG = IS_FULL ? 1_000_000 : 300_000
const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url))

interface Message {
  readonly messageId: string
  readonly event: string
  readonly timestamp: string
  readonly properties: object
}

/** The messages that the service has received, as JSON by their id. */
const received = new Map<string, string>()
const differing: string[] = []
let duplicates = 0
let isDown = false
let service: Loopback
let directory: string
const children: ChildProcess[] = []

beforeEach(async () => {
  received.clear()
  differing.length = 0
  duplicates = 0
  isDown = false
  directory = temporaryDirectory()
  service = await startService<Message>(({ batch }) => {
    if (isDown) return 503
    for (const message of batch) {
      const text = JSON.stringify(message)
      const before = received.get(message.messageId)
      if (before !== undefined) duplicates++
      if (before !== undefined && before !== text) differing.push(message.messageId)
      received.set(message.messageId, text)
    }
    return 200
  })
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await service.close()
})

interface StartOptions {
  readonly host?: string
  readonly count?: number
  /** Options of Node.js. */
  readonly args?: readonly string[]
}

/** `stored` is the number of events that the process has reported as stored. */
function start(mode: string, name: string, options: StartOptions = {}) {
  const { host = service.url, count = 1, args = [] } = options
  const running = startProgram(process.execPath, [...args, CHILD, directory, host, mode, name], {
    env: { ...process.env, COUNT: String(count) },
  })
  children.push(running.child)
  return {
    ...running,
    ended: running.ended.then(({ code, signal, stderr }) => {
      if (mode === 'drain' && code !== 0) throw new Error(stderr)
      return signal ?? code
    }),
    stored() {
      const output = running.stdout()
      return Number(/stored (\d+)\n$/.exec(output.slice(0, output.lastIndexOf('\n') + 1))?.[1] ?? 0)
    },
  }
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 5))
}

async function drain(host?: string): Promise<{ recovered: number; ms: number; grownBytes: number }> {
  const life = start('drain', 'drain', host === undefined ? {} : { host })
  await life.ended
  return JSON.parse(life.stdout())
}

function expectAll(ids: readonly string[]): void {
  expect(ids.filter((id) => !received.has(id))).toEqual([])
  expect(differing).toEqual([])
  for (const [id, text] of received) {
    const { event, timestamp, properties } = JSON.parse(text) as Message
    const tracked = eventOf(id)
    expect({ event, timestamp, properties }).toEqual({
      event: tracked.event,
      timestamp: tracked.timestamp.toISOString(),
      properties: tracked.properties,
    })
  }
}

function idsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`)
}

test(`F88: no stored event is lost in ${ROUNDS} deaths by SIGKILL, with an unreliable service`, async () => {
  const stored: string[] = []
  let random = 7
  const next = (): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fffffff
    return random / 0x7fffffff
  }
  for (let round = 0; round < ROUNDS; round++) {
    isDown = next() < 0.5
    const life = start('track', `r${round}`)
    await until(() => life.stored() > 0)
    await new Promise((resolve) => setTimeout(resolve, next() * 200))
    if (next() < 0.3) isDown = !isDown
    life.child.kill('SIGKILL')
    await life.ended
    stored.push(...idsOf(`r${round}`, life.stored()))
  }
  isDown = false

  const { recovered } = await drain()

  console.log(
    `${stored.length} events stored, ${received.size} received, ${duplicates} sent twice, ${recovered} at the end`,
  )
  expect(stored.length).toBeGreaterThan(ROUNDS * 5)
  expectAll(stored)
  expect(filesIn(directory)).toEqual([])
}, 1_800_000)

/** The kinds of death in docs/spool.md, with the signal or the exit code of the process. */
const DEATHS = { kill: 'SIGKILL', throw: 1, exit: 0, memory: 'SIGABRT', thread: 0 }

test('the death of a process loses nothing: SIGKILL, an exception, exit, out of memory, a terminated thread', async () => {
  isDown = true
  const lives = Object.keys(DEATHS).map((mode) => start(mode, mode, { args: ['--max-old-space-size=32'] }))
  const ends = await Promise.all(lives.map(({ ended }) => ended))
  isDown = false
  expect(ends).toEqual(Object.values(DEATHS))
  expect(received.size).toBe(0)

  await drain()

  expectAll(Object.keys(DEATHS).map((mode) => `${mode}-1`))
})

if (TIER !== 'default') {
  test('a backlog of a month is delivered unchanged', async () => {
    isDown = true
    const life = start('burst', 'm', { count: 500 })
    await until(() => life.stored() === 500)
    life.child.kill('SIGKILL')
    await life.ended
    const month = Date.now() / 1_000 - 31 * 86_400
    for (const name of filesIn(directory)) utimesSync(join(directory, name), month, month)
    isDown = false

    const { recovered } = await drain()

    expectAll(idsOf('m', 500))
    expect(recovered).toBe(500)
    expect(filesIn(directory)).toEqual([])
  })

  test('F94: after eight concurrent processes are killed, two new processes that start together deliver each event once', async () => {
    isDown = true
    const lives = Array.from({ length: 8 }, (_, index) => start('burst', `p${index}`, { count: 500 }))
    await until(() => lives.every((life) => life.stored() === 500))
    for (const { child } of lives) child.kill('SIGKILL')
    await Promise.all(lives.map(({ ended }) => ended))
    isDown = false

    const drained = await Promise.all([drain(), drain()])

    expectAll(lives.flatMap((_, index) => idsOf(`p${index}`, 500)))
    expect(duplicates).toBe(0)
    expect(drained[0].recovered + drained[1].recovered).toBe(4_000)
  })

  test(`F98: a backlog of ${BACKLOG} events is delivered without loading all of it into memory`, async () => {
    const life = start('burst', 'b', { host: 'none', count: BACKLOG })
    await until(() => life.stored() === BACKLOG)
    life.child.kill('SIGKILL')
    await life.ended
    const { statSync } = await import('node:fs')
    const bytes = filesIn(directory).reduce((sum, name) => sum + statSync(`${directory}/${name}`).size, 0)

    const { recovered, ms, grownBytes } = await drain('stub')

    const mb = (value: number): string => `${(value / 1_048_576).toFixed(0)} MB`
    console.log(
      `${mb(bytes)} delivered in ${(ms / 1_000).toFixed(1)} s; memory grew by ${mb(grownBytes)} at most`,
    )
    expect(recovered).toBe(BACKLOG)
    // Half of the room for events is 16 MB. About 40 MB are the young generation of V8's heap, as in any busy process.
    expect(grownBytes).toBeLessThan(96 * 1_048_576)
    expect(bytes).toBeGreaterThan(96 * 1_048_576)
  }, 1_800_000)
}
