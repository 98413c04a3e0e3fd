// A program as users of @rudderstack/rudder-sdk-node 3 write it. A test runs it with that library, and with
// `trackpost/compat` instead:
//   node rudderstack.cjs MODULE URL
const [, , specifier, url] = process.argv
const loaded = require(specifier)
const RudderAnalytics = loaded.default ?? loaded

const outcomes = []
const note = (...values) => outcomes.push(values)
const told = (call) => new Promise((resolve) => call((error, data) => resolve([error, data])))

const open = (part, options) =>
  new RudderAnalytics('wk_Zurich_7Qm4', {
    dataPlaneUrl: `${url}/${part}`,
    flushInterval: 60_000,
    maxInternalQueueSize: 1_000,
    logLevel: 'none',
    ...options,
  })

async function sixKinds() {
  const analytics = open('kinds', { flushAt: 6 })
  analytics.flushed = true
  const originalTimestamp = new Date('2024-02-29T12:00:00.000Z')
  const [error] = await told((callback) => {
    const returned = analytics
      .identify({ userId: 17, traits: { name: 'Zoë' }, context: { ip: '203.0.113.7' }, originalTimestamp })
      .track({ userId: 'u1', event: 'Commande', properties: { total: 12.5 }, originalTimestamp })
      .page({ anonymousId: 'a1', category: 'Docs', name: 'Prix', originalTimestamp })
      .screen({ userId: 'u1', name: 'Panier', integrations: { All: true }, originalTimestamp })
      .group({ userId: 'u1', groupId: 'g1', traits: { name: 'Atelier' }, originalTimestamp })
      .alias({ previousId: 'a1', userId: 'u1', originalTimestamp }, callback)
    note('calls return the client', returned === analytics)
  })
  note('callback', error)
}

async function flushing() {
  const analytics = open('flush', { gzip: false })
  analytics.flushed = true
  const callbacks = ['A', 'B'].map((event) =>
    told((callback) => analytics.track({ userId: 'u1', event }, callback)),
  )
  const flushed = await told((callback) => analytics.flush(callback))
  note(
    'flush',
    flushed[0],
    (await Promise.all(callbacks)).map(([error]) => error),
  )
  note('nothing to flush', await analytics.flush())
}

async function invalidCalls() {
  const analytics = open('invalid')
  for (const message of [{ event: 'nobody' }, { userId: 'u1' }, undefined]) {
    try {
      analytics.track(message)
      note('was accepted')
    } catch (error) {
      note('throws', error instanceof Error)
    }
  }
}

async function disabled() {
  const analytics = open('disabled', { enable: false })
  const given = await new Promise((resolve) => {
    analytics.identify({ userId: 'u1' }, (...args) => resolve(args))
  })
  note('disabled', given, analytics.enable)
}

async function handled() {
  const errors = []
  const analytics = open('refused', { errorHandler: (error) => void errors.push(error) })
  analytics.flushed = true
  analytics.track({ userId: 'u1', event: 'E' })
  await analytics.flush()
  note('errorHandler', errors.length, errors[0].message, errors[0].response.status)
}

async function refused() {
  const analytics = open('refused')
  analytics.flushed = true
  analytics.track({ userId: 'u1', event: 'E' })
  note('refused', await analytics.flush().catch((error) => error.message))
}

async function main() {
  for (const part of [sixKinds, flushing, invalidCalls, disabled, handled, refused]) await part()
  process.stdout.write(
    `\n${JSON.stringify(outcomes.map((one) => one.map((value) => (value === undefined ? 'undefined' : value))))}\n`,
    () => process.exit(0),
  )
}

main()
