import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { ConfigInput } from '../../../collector/src/config/config.ts'
import { type HeldPort, holdPort } from '../../../test/support/held-port.ts'
import type { NatsServer } from '../support/nats.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { Link } from './link.ts'
import { Supervised } from './supervised.ts'

/** The parts that can be disturbed. */
export interface Parts {
  /** The processes that accept events from clients. */
  fronts: Supervised[]
  /** The processes that write the events of the log to the store; empty without a log. */
  workers: Supervised[]
  nats: NatsServer | undefined
  postgres: PostgresServer
  links: Map<string, Link>
}

/** Several collectors behind a load balancer, each with its own connections to the servers. */
export interface Cluster extends Parts {
  url: string
  /** The addresses of the processes that are connected to the store. */
  readers: string[]
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>
  close(): Promise<void>
}

export interface Ingredients {
  postgres: PostgresServer
  /** If `undefined`, there is no log: the processes are equal and share one database. */
  nats?: NatsServer
  destination: string
}

/** Starts two fronts, one of them without a store, and two workers. Without a log, it starts two equal processes. */
export async function openCluster({ postgres, nats, destination }: Ingredients): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-cluster-'))
  const config: ConfigInput = {
    destinations: [
      {
        name: 'warehouse',
        type: 'webhook',
        url: destination,
        concurrency: 64,
        maxAttempts: 1000,
        firstDelay: 50,
        timeout: 2000,
      },
    ],
  }
  const configPath = join(folder, 'collector.json')
  writeFileSync(configPath, JSON.stringify(config))
  const database = new URL(await postgres.newDatabase())
  const links = new Map<string, Link>()
  const open = async (name: string, target: number) => {
    const link = await Link.open(target)
    links.set(name, link)
    return link.port
  }
  const ports: number[] = []
  const heldPorts: HeldPort[] = []
  const collector = async (name: string, isWorker: boolean, hasStore: boolean) => {
    const held = await holdPort()
    const { port } = held
    heldPorts.push(held)
    const args = [...(isWorker ? ['work'] : []), '--port', String(port), '--config', configPath]
    if (nats !== undefined) args.push('--log', `nats://127.0.0.1:${await open(`${name} to log`, nats.port)}`)
    if (hasStore) {
      const store = new URL(database)
      store.port = String(await open(`${name} to store`, postgres.port))
      args.push('--store', store.href)
    }
    ports.push(port)
    return new Supervised(name, folder, args)
  }
  const fronts = [
    await collector('front 1', false, nats === undefined),
    await collector('front 2', false, true),
  ]
  const workers =
    nats === undefined
      ? []
      : [await collector('worker 1', true, true), await collector('worker 2', true, true)]
  const balancer = await Link.open(...ports.slice(0, fronts.length))
  const all = [...fronts, ...workers]
  for (const one of all) one.start()
  return {
    fronts,
    workers,
    nats,
    postgres,
    links,
    url: `http://127.0.0.1:${balancer.port}`,
    readers: ports.slice(nats === undefined ? 0 : 1).map((port) => `http://127.0.0.1:${port}`),
    query: (text) => query(database.href, text),
    async close() {
      await Promise.all(
        all.map((one) => {
          one.resume()
          return one.end('SIGKILL')
        }),
      )
      for (const link of [...links.values(), balancer]) link.close()
      for (const { release } of heldPorts) release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function query<Row extends pg.QueryResultRow>(address: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: address })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
