import { randomInt } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { seeded } from '../../../test/faults/harness/payload.ts'
import type { NatsServer } from '../support/nats.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { Account, reached } from './account.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { Destination } from './destination.ts'
import { Senders } from './senders.ts'
import { Storm } from './storm.ts'

/** Whether `npm run test:cluster` or `npm test` runs with `--full`. */
const isFull = process.env['TEST_FULL'] === '1'
/** Minimum number of events in a run. With 0, there is one round. */
const EVENTS = Number(process.env['CLUSTER_EVENTS'] ?? (isFull ? 200_000 : 0))
const SEED = Number(process.env['CLUSTER_SEED'] ?? randomInt(2 ** 32))
export const LIMIT_MS = isFull ? 3_600_000 : 900_000
/** The full run checks that the cluster needs less time than this to settle. The other run only prints the time. */
const PROMISED_SECONDS = 60
const TELL_MS = 60_000

/**
 * Sends events during disturbances, and then waits until all events are processed. Repeats this until `EVENTS` events have
 * been sent. Then compares the responses with the stored events.
 */
export async function prove(name: string, postgres: PostgresServer, nats?: NatsServer): Promise<void> {
  const random = seeded(SEED)
  const account = new Account()
  const destination = await Destination.open(seeded(SEED + 1))
  onTestFinished(() => destination.close())
  const cluster = await openCluster({ postgres, ...(nats && { nats }), destination: destination.url })
  onTestFinished(() => cluster.close())
  const all = [...cluster.fronts, ...cluster.workers]
  await reached(() => all.every(({ isListening }) => isListening))
  const senders = new Senders(account, cluster.url)
  await senders.start()
  await account.someMore(20)

  const storm = new Storm(cluster, account, random, 20)
  let phase = 'storm'
  // If a wait never ends, this output shows the cause.
  const telling = setInterval(async () => {
    const seen = await look(cluster).catch((cause: Error) => cause.message)
    const unavailable = all
      .filter(({ isListening }) => !isListening)
      .map(({ name, said }) => ({ name, said }))
    print(
      `${name}: ${phase}, last ${storm.said.at(-1)}; ${account.answered.size} of ${senders.tracked} answered, ${senders.givenUp.length} given up (${senders.givenUp[0]}), ${JSON.stringify({ seen, unavailable })}`,
    )
  }, TELL_MS)
  onTestFinished(() => clearInterval(telling))
  let longestSeconds = 0
  try {
    do {
      senders.goOn()
      phase = 'storm'
      await storm.round()
      await storm.calm()
      phase = 'calm'
      const calmMs = performance.now()
      await reached(() => all.every(({ isListening }) => isListening))
      await senders.hold()
      const answeredMs = performance.now()
      await settled(cluster)
      const seconds = (performance.now() - answeredMs) / 1000
      longestSeconds = Math.max(longestSeconds, seconds)
      const { answered, outcomes, failures } = account
      print(
        `${name}, seed ${SEED}: ${answered.size} events got 200 in ${outcomes} requests, ${failures} of which failed; ${storm.count} disturbances; ` +
          `all answered ${((answeredMs - calmMs) / 1000).toFixed(1)} s after calm, settled ${seconds.toFixed(1)} s later; ${destination.attempts} attempts at the destination`,
      )
    } while (senders.tracked < EVENTS)
    await senders.end()
    expect(senders.givenUp).toEqual([])
    await judge(cluster, account, senders, destination)
    if (isFull) expect(longestSeconds).toBeLessThan(PROMISED_SECONDS)
  } catch (cause) {
    print(`${name}: repeat with CLUSTER_SEED=${SEED}\n${storm.said.join('\n')}`)
    throw cause
  }
}

const print = (line: string) => process.stderr.write(`cluster: ${line}\n`)

interface StoredEvent {
  message_id: string
  accepted: number
  rows: number
}

interface Stats {
  accepted: number
  log?: { waiting: number | null; deadLetters: number | null }
}

async function statsOf(url: string): Promise<Stats> {
  return (await fetch(`${url}/api/stats`)).json() as Promise<Stats>
}

/** `waiting` is the number of messages in the log, as each process sees it. */
async function look(cluster: Cluster) {
  const all = await Promise.all(cluster.readers.map(statsOf))
  const [found] = await cluster.query<{ rows: number; pending: number }>(
    "SELECT (SELECT count(*) FROM event)::integer AS rows, (SELECT count(*) FROM delivery WHERE state = 'pending')::integer AS pending",
  )
  return { ...found, waiting: all.map(({ log }) => (log === undefined ? 0 : log.waiting)) }
}

async function settled(cluster: Cluster): Promise<void> {
  let before = ''
  await reached(async () => {
    const seen = await look(cluster)
    const isEmpty = seen.pending === 0 && seen.waiting.every((count) => count === 0)
    const now = JSON.stringify(seen)
    const isQuiet = isEmpty && now === before
    before = now
    return isQuiet
  }, 250)
}

async function judge(
  cluster: Cluster,
  { answered, attempts }: Account,
  { delivered, tracked }: Senders,
  destination: Destination,
): Promise<void> {
  const stored = await cluster.query<StoredEvent>(
    'SELECT message_id, count(*) FILTER (WHERE status = 1)::integer AS accepted, count(*)::integer AS rows FROM event GROUP BY 1',
  )
  const kept = new Map(stored.map((event) => [event.message_id, event]))
  const of = (isSo: (event: StoredEvent) => boolean) =>
    stored.filter(isSo).map(({ message_id, accepted, rows }) => ({ message_id, accepted, rows }))
  const without = (ids: Iterable<string>, there: { has(id: string): boolean }) =>
    [...ids].filter((id) => !there.has(id))
  expect({
    answeredAndLost: without(answered, kept),
    deliveredByTheSdkAndLost: without(delivered, kept),
    notAnswered: tracked - answered.size,
    notAcceptedOnce: of(({ accepted }) => accepted !== 1),
    // Each attempt of a client adds at most one row to the table. A redelivery by the log adds none.
    moreRowsThanRequests: of(({ message_id, rows }) => rows > (attempts.get(message_id) ?? 0)),
    neverAtTheDestination: without(answered, destination.taken),
    strangersAtTheDestination: without(destination.keys.keys(), kept),
    keysThatAreNotStable: destination.mixedUp,
    crashes: [...cluster.fronts, ...cluster.workers].flatMap(({ crashes }) => crashes),
  }).toEqual({
    answeredAndLost: [],
    deliveredByTheSdkAndLost: [],
    notAnswered: 0,
    notAcceptedOnce: [],
    moreRowsThanRequests: [],
    neverAtTheDestination: [],
    strangersAtTheDestination: [],
    keysThatAreNotStable: [],
    crashes: [],
  })
  const states = await cluster.query('SELECT state, count(*)::integer AS count FROM delivery GROUP BY 1')
  expect(states).toEqual([{ state: 'delivered', count: tracked }])
  for (const { accepted, log } of await Promise.all(cluster.readers.map(statsOf))) {
    expect(accepted).toBe(tracked)
    if (cluster.nats !== undefined) expect(log).toMatchObject({ waiting: 0, deadLetters: 0 })
  }
}
