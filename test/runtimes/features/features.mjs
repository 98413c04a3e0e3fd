// The features that docs/platforms.md compares, one function for each, written as users would use them. Each platform
// has a host program that calls the functions with a `host` object. A function returns what it has observed.
// features.test.ts compares the results and the events that arrived with table.ts.

const EVENT = { userId: 'usr_Zoë' }

/** Thrown if a feature is not available, with the message that the user gets. */
class Refused extends Error {}

function createWith(host, feature, settings) {
  const { Analytics } = host.trackpost
  return new Analytics({
    writeKey: host.writeKey,
    host: `${host.apiUrl}/${feature}`,
    flushAt: 100,
    ...settings,
  })
}

export const FEATURES = {
  async kinds(host) {
    const analytics = createWith(host, 'kinds')
    analytics.identify({ ...EVENT, traits: { plan: 'Größe M' } })
    analytics.track({ ...EVENT, event: 'Bestellung', properties: { price: 12.5, emoji: '🍰' } })
    analytics.page({ ...EVENT, category: 'Laden', name: 'Kasse' })
    analytics.screen({ ...EVENT, name: 'Warenkorb' })
    analytics.group({ ...EVENT, groupId: 'grp_7', traits: { city: 'Zürich' } })
    analytics.alias({ ...EVENT, previousId: 'anon_3' })
    return analytics.flush()
  },

  /** The service responds with 503, then with 429 and a wait of a second. */
  async retry(host) {
    const analytics = createWith(host, 'retry')
    const startMs = Date.now()
    analytics.track({ ...EVENT, event: 'retry' })
    const { delivered } = await analytics.flush()
    // A timer may fire a little early.
    return { delivered, hasWaited: Date.now() - startMs > 950 }
  },

  async fetchClient(host) {
    const { FetchHTTPClient } = host.trackpost
    // Node.js 16 has no fetch.
    if (typeof fetch !== 'function') throw new Refused('no fetch')
    const analytics = createWith(host, 'fetchClient', { httpClient: new FetchHTTPClient() })
    analytics.track({ ...EVENT, event: 'fetchClient' })
    return analytics.flush()
  },

  async callback(host) {
    const analytics = createWith(host, 'callback', { flushAt: 1 })
    return new Promise((resolve) => {
      analytics.track({ ...EVENT, event: 'callback' }, (error, ctx) =>
        resolve(error?.code ?? ctx.event.event),
      )
    })
  },

  async promise(host) {
    const ctx = await createWith(host, 'promise').promises.track({ ...EVENT, event: 'promise' })
    return ctx.event.event
  },

  async flush(host) {
    const analytics = createWith(host, 'flush')
    for (let count = 0; count < 3; count++) analytics.track({ ...EVENT, event: 'flush' })
    return analytics.flush()
  },

  async closeAndFlush(host) {
    const analytics = createWith(host, 'closeAndFlush')
    analytics.track({ ...EVENT, event: 'closeAndFlush' })
    const summary = await analytics.closeAndFlush()
    const late = await new Promise((resolve) => {
      analytics.track({ ...EVENT, event: 'late' }, (error) => resolve(error?.code))
    })
    return { ...summary, late }
  },

  /** Also passes each promise to the platform if it has `waitUntil`: only the platform waits for the promise then. */
  async waitUntil(host) {
    const handed = []
    const waitUntil = (promise) => {
      handed.push(promise)
      host.waitUntil?.(promise)
    }
    const analytics = createWith(host, 'waitUntil', { waitUntil })
    for (let count = 0; count < 2; count++) analytics.track({ ...EVENT, event: 'waitUntil' })
    if (host.waitUntil === undefined) await Promise.all(handed)
    return handed.length
  },

  async OAuth(host) {
    const analytics = createWith(host, 'OAuth', { oauthSettings: host.oauthSettings })
    analytics.track({ ...EVENT, event: 'OAuth' })
    return analytics.flush()
  },

  async gzip(host) {
    const analytics = createWith(host, 'gzip', { compress: 'gzip' })
    for (let count = 0; count < 20; count++) analytics.track({ ...EVENT, event: 'gzip' })
    const summary = await analytics.flush()
    throwIfTold(host, 'uncompressed')
    return summary
  },

  /** The service is down for the first client. The second client delivers the event that the first leaves in the spool. */
  async spool(host) {
    const { FileSpool } = await host.load('trackpost/spool', Refused)
    const directory = host.directory
    const create = () => new FileSpool(directory)
    const first = createWith(host, 'down', { spool: refusing(create) })
    first.track({ ...EVENT, event: 'spool' })
    const stored = await first.stored()
    const { deferred } = await first.closeAndFlush({ timeout: 1 })
    const second = createWith(host, 'spool', { spool: create() })
    if (second.stats.delivered === 0) await new Promise((resolve) => second.once('track', resolve))
    const { recovered } = second.stats
    await second.closeAndFlush()
    const denied = host.warnings.find((one) => one.includes('denies fsync'))
    return { stored, deferred, recovered, ...(denied && { denied }) }
  },

  async scope(host) {
    const { currentScope, runWithScope } = await host.load('trackpost/scope', Refused)
    const analytics = createWith(host, 'scope', { scope: currentScope })
    await Promise.all(
      ['usr_ada', 'usr_grace'].map((userId) =>
        runWithScope({ userId }, async () => {
          await new Promise((resolve) => setTimeout(resolve, 1))
          analytics.track({ event: 'scope' })
        }),
      ),
    )
    return analytics.flush()
  },

  async plugins(host) {
    const analytics = createWith(host, 'plugins')
    const steps = []
    const step = (type, name) => ({
      name,
      type,
      async track(ctx) {
        await null
        steps.push(name)
        if (type !== 'after') ctx.updateEvent(`properties.${name}`, true)
        return ctx
      },
    })
    await analytics.register(step('before', 'first'), step('enrichment', 'second'), step('after', 'last'))
    analytics.track({ ...EVENT, event: 'plugins' })
    await analytics.flush()
    return steps
  },

  /** The event of this client is sent when the signal comes, after all other features have run. */
  async closeOn(host) {
    const { closeOn } = await host.load('trackpost/node', Refused)
    const analytics = createWith(host, 'closeOn', { flushInterval: 2_147_483_647 })
    closeOn(analytics, ['SIGTERM'])
    // Node.js emits warnings one tick later.
    await new Promise((resolve) => setTimeout(resolve, 0))
    throwIfTold(host, 'closeOn')
    analytics.track({ ...EVENT, event: 'closeOn' })
    return 'listening'
  },
}

function throwIfTold(host, text) {
  const warning = host.warnings.find((one) => one.includes(text))
  if (warning !== undefined) throw new Refused(warning)
}

function refusing(create) {
  try {
    return create()
  } catch (error) {
    throw new Refused(error.message)
  }
}

/** Runs one feature, and returns the result: `{ saw }`, `{ refused }` or `{ absent }`. */
export async function runFeature(name, host) {
  try {
    const saw = await FEATURES[name](host)
    return saw?.absent === undefined ? { saw } : saw
  } catch (error) {
    if (error instanceof Refused) return { refused: error.message }
    return { failed: String(error?.stack ?? error) }
  }
}

/** Runs all features at the same time, since they mostly wait. */
export async function runFeatures(host) {
  const names = Object.keys(FEATURES)
  // Keeps the process alive: some features wait without a timer or socket.
  const stay = setInterval(() => {}, 1_000)
  const results = await Promise.all(names.map((name) => runFeature(name, host)))
  clearInterval(stay)
  return Object.fromEntries(names.map((name, index) => [name, results[index]]))
}
