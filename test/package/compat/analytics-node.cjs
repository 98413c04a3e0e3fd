// A program as users of analytics-node 6 write it. A test runs it with that library, and with
// `trackpost/compat` instead:
//   node analytics-node.cjs MODULE URL
const [, , specifier, url] = process.argv
const loaded = require(specifier)
const Analytics = loaded.default ?? loaded

const outcomes = []
const note = (...values) => outcomes.push(values)

/** Resolves with the arguments that the callback gets. */
const told = (call) => new Promise((resolve) => call((error, data) => resolve([error, data])))

const open = (part, options) => new Analytics('wk_Zurich_7Qm4', { host: `${url}/${part}/`, ...options })

async function sixKinds() {
  const analytics = open('kinds', { flushAt: 6, flushInterval: 5_000 })
  analytics.flushed = true
  const timestamp = new Date('2024-02-29T12:00:00.000Z')
  const done = told((callback) => {
    const returned = analytics
      .identify({ userId: 17, traits: { name: 'Zoë', plan: null, tags: ['a'] }, timestamp })
      .track({ userId: 'u1', event: 'Commande', properties: { total: 12.5, when: timestamp }, timestamp })
      .page({ anonymousId: 'a1', category: 'Docs', name: 'Prix', properties: { url: '/prix' }, timestamp })
      .screen({ userId: 'u1', name: 'Panier', integrations: { All: false, Mixpanel: true }, timestamp })
      .group({
        userId: 'u1',
        groupId: 'g1',
        traits: { name: 'Atelier' },
        context: { ip: '203.0.113.7' },
        timestamp,
      })
      .alias({ previousId: 'a1', userId: 'u1', timestamp }, callback)
    note('calls return the client', returned === analytics)
  })
  const [error, data] = await done
  note('callback', error, data.batch.at(-1).type, data.timestamp instanceof Date, data.sentAt instanceof Date)
}

async function settings() {
  const analytics = open('settings', {})
  note('members', analytics.enable, analytics.flushed)
  try {
    new Analytics()
  } catch (error) {
    note('no key throws', error instanceof Error)
  }
  try {
    analytics.enable = false
  } catch {}
  note('enable cannot be changed', analytics.enable)
}

async function firstOne() {
  const analytics = open('first', { flushAt: 20, flushInterval: 60_000 })
  const [error, data] = await told((callback) => {
    analytics.track({ userId: 'u1', event: 'First' }, callback)
  })
  note('the first event goes at once', error, data.batch.length, analytics.flushed)
}

async function flushing() {
  const analytics = open('flush', { flushInterval: 60_000 })
  analytics.flushed = true
  note('nothing to flush', await told((callback) => analytics.flush(callback)))
  for (const event of ['A', 'B', 'C']) analytics.track({ userId: 'u1', event })
  const calls = []
  const data = await analytics.flush((...given) => calls.push(given))
  note('flush resolves', data.batch.length)
  // The callback may run after the promise has resolved.
  while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const [error, given] = calls[0]
  const events = given.batch.map(({ event }) => event)
  note('flush callback', calls.length, error, events)
}

async function invalidCalls() {
  const analytics = open('invalid')
  for (const [kind, message] of [
    ['track', { userId: 'u1' }],
    ['track', { event: 'nobody' }],
    ['identify', {}],
    ['group', { userId: 'u1' }],
    ['alias', { userId: 'u1' }],
    ['track', undefined],
  ]) {
    try {
      analytics[kind](message)
      note(kind, 'was accepted')
    } catch (error) {
      note(kind, 'throws', error instanceof Error)
    }
  }
}

async function disabled() {
  const analytics = open('disabled', { enable: false })
  const given = await new Promise((resolve) => {
    analytics.track({ userId: 'u1', event: 'Nobody hears it' }, (...args) => resolve(args))
  })
  note('disabled', given, await analytics.flush())
}

async function refused() {
  const analytics = open('refused', { flushInterval: 60_000 })
  analytics.flushed = true
  const callback = told((run) => analytics.track({ userId: 'u1', event: 'E' }, run))
  const problem = await analytics.flush().then(
    () => 'resolved',
    (error) => error.message,
  )
  const [error] = await callback
  note('refused', problem, error.message)
}

async function handled() {
  const errors = []
  const analytics = open('refused', { errorHandler: (error) => void errors.push(error) })
  analytics.flushed = true
  const callback = told((run) => analytics.track({ userId: 'u1', event: 'E' }, run))
  await analytics.flush()
  const [error] = await callback
  const [first] = errors
  note('errorHandler', errors.length, first.message, first.response.status, first.response.statusText)
  note('its callback', error.message, error === first)
}

async function unreachable() {
  const errors = []
  const options = {
    host: 'http://127.0.0.1:1',
    retryCount: 0,
    errorHandler: (error) => void errors.push(error),
  }
  const analytics = new Analytics('wk_Zurich_7Qm4', options)
  analytics.flushed = true
  analytics.track({ userId: 'u1', event: 'E' })
  await analytics.flush()
  note('unreachable', errors.length, errors[0].code, errors[0].response)
}

async function retried() {
  const analytics = open('retried', { retryCount: 2, timeout: 10_000 })
  analytics.flushed = true
  const [error] = await told((callback) => {
    analytics.track({ userId: 'u1', event: 'Later', messageId: 'm-1' }, callback)
    analytics.flush()
  })
  note('retried', error)
}

async function main() {
  for (const part of [sixKinds, settings, firstOne, flushing, invalidCalls, disabled]) await part()
  for (const part of [refused, handled, unreachable, retried]) await part()
  console.log(
    JSON.stringify(outcomes.map((one) => one.map((value) => (value === undefined ? 'undefined' : value)))),
  )
}

main()
