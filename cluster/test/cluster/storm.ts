import { type Account, reached } from './account.ts'
import type { Cluster } from './cluster.ts'
import type { Supervised } from './supervised.ts'

interface Disturbance {
  name: string
  /** The parts that the disturbance affects. It ends before the next disturbance of one of these parts begins. */
  parts: readonly string[]
  /** Whether no event can be accepted during the disturbance. If so, the test waits until some requests have failed. */
  stopsAll: boolean
  /** @param some Resolves when some more requests have got 200, or some have failed. */
  begin(some: () => Promise<void>): Promise<void> | void
  end(): Promise<void> | void
}

const MOST_AT_A_TIME = 3

/** Causes all kinds of disturbance, each once in a round, in random order and with random overlaps. */
export class Storm {
  readonly #cluster: Cluster
  readonly #account: Account
  readonly #random: () => number
  readonly #stride: number
  readonly #active: Disturbance[] = []
  /** The disturbances so far, one line each. */
  readonly said: string[] = []
  count = 0

  /** @param stride Between two steps, `stride` to twice `stride` requests get 200, unless some requests fail. */
  constructor(cluster: Cluster, account: Account, random: () => number, stride: number) {
    this.#stride = stride
    this.#cluster = cluster
    this.#account = account
    this.#random = random
  }

  async round(): Promise<void> {
    for (const one of shuffled(disturbances(this.#cluster, this.#random), this.#random)) {
      for (const other of [...this.#active]) {
        if (other.parts.some((part) => one.parts.includes(part))) await this.#end(other)
      }
      while (this.#active.length >= MOST_AT_A_TIME) await this.#endOne()
      this.said.push(one.name)
      this.count++
      this.#active.push(one)
      await one.begin(() => this.#some())
      if (one.stopsAll) await this.#account.someFailures()
      await this.#some()
      if (this.#random() < 0.6) await this.#endOne()
    }
  }

  async calm(): Promise<void> {
    while (this.#active.length > 0) await this.#endOne()
  }

  async #endOne(): Promise<void> {
    const one = this.#active[Math.floor(this.#random() * this.#active.length)]
    if (one !== undefined) await this.#end(one)
  }

  async #end(one: Disturbance): Promise<void> {
    this.#active.splice(this.#active.indexOf(one), 1)
    this.said.push(`end of: ${one.name}`)
    await one.end()
    await this.#some()
  }

  #some(): Promise<void> {
    return this.#account.someMore(Math.ceil(this.#stride * (1 + this.#random())))
  }
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const left = [...values]
  return values.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as T)
}

function disturbances(cluster: Cluster, random: () => number): Disturbance[] {
  const { fronts, workers, links } = cluster
  const oneOf = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const found = [fronts, workers]
    .filter((group) => group.length > 0)
    .flatMap((group) => [
      ...(['kill', 'pause', 'terminate'] as const).map((how) => ofProcess(oneOf(group), how)),
      ofBoth(group, group === fronts),
    ])
  found.push(withHandsFull(cluster))
  for (const end of ['front', 'worker']) {
    for (const server of ['log', 'store']) {
      const names = [...links.keys()].filter((name) => name.startsWith(end) && name.endsWith(`to ${server}`))
      if (names.length === 0) continue
      for (const how of ['cut', 'hold'] as const) found.push(ofLink(cluster, oneOf(names), how))
    }
  }
  for (const how of ['kill', 'pause', 'terminate'] as const) found.push(...ofServers(cluster, how))
  return found
}

function ofProcess(one: Supervised, how: 'kill' | 'pause' | 'terminate'): Disturbance {
  const common = { name: `${how} ${one.name}`, parts: [one.name], stopsAll: false }
  if (how === 'pause') return { ...common, begin: () => one.pause(), end: () => one.resume() }
  const signal = how === 'kill' ? 'SIGKILL' : 'SIGTERM'
  return { ...common, begin: () => one.end(signal), end: () => one.start() }
}

function ofBoth(group: readonly Supervised[], stopsAll: boolean): Disturbance {
  return {
    name: `kill ${group.map(({ name }) => name).join(' and ')}`,
    parts: group.map(({ name }) => name),
    stopsAll,
    begin: async () => void (await Promise.all(group.map((one) => one.end('SIGKILL')))),
    end: () => {
      for (const one of group) one.start()
    },
  }
}

/**
 * While the store does not respond, kills the processes that write to it, so that they lose events that they have received but
 * not written. Then kills the store, which would otherwise write the data that is still in its sockets. All other parts must
 * work, because otherwise the killed processes would have received nothing.
 */
function withHandsFull(cluster: Cluster): Disturbance {
  const { fronts, workers, postgres, links } = cluster
  const group = workers.length > 0 ? workers : fronts
  const all = [...fronts, ...workers]
  const both = ofBoth(group, group === fronts)
  return {
    ...both,
    name: `pause PostgreSQL, then ${both.name}, then kill PostgreSQL`,
    parts: [...all.map(({ name }) => name), 'postgres', 'nats', ...links.keys()],
    async begin(some) {
      await reached(() => all.every(({ isListening }) => isListening))
      const before = await rowsIn(cluster)
      await reached(async () => (await rowsIn(cluster)) > before)
      await postgres.pause()
      await some()
      await both.begin(some)
      await postgres.kill()
    },
    async end() {
      await postgres.restart()
      await both.end()
    },
  }
}

async function rowsIn(cluster: Cluster): Promise<number> {
  const [found] = await cluster.query<{ rows: number }>('SELECT count(*)::integer AS rows FROM event')
  return found?.rows ?? 0
}

function ofLink({ links }: Cluster, name: string, how: 'cut' | 'hold'): Disturbance {
  const link = links.get(name)
  return {
    name: `${how} ${name}`,
    parts: [name],
    stopsAll: false,
    begin: () => link?.[how](),
    end: () => link?.restore(),
  }
}

function ofServers({ nats, postgres }: Cluster, how: 'kill' | 'pause' | 'terminate'): Disturbance[] {
  const database: Disturbance = {
    name: `${how} PostgreSQL`,
    parts: ['postgres'],
    stopsAll: nats === undefined,
    begin: () => postgres[how](),
    end: () => (how === 'pause' ? postgres.resume() : postgres.restart()),
  }
  if (nats === undefined) return [database]
  const log: Disturbance = {
    name: `${how} nats-server`,
    parts: ['nats'],
    stopsAll: true,
    begin: () => nats[how](),
    end: () => (how === 'pause' ? nats.resume() : nats.start()),
  }
  return [database, log]
}
