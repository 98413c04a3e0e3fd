// A Worker with two clients that all requests share: one with the setting `waitUntil`, one without it. Requests wait
// for their events in different ways (`forms`), one of them with a client of its own. The clock of the two shared
// clients is ten times as fast as real time.
import { env, waitUntil } from 'cloudflare:workers'
import { Analytics } from 'trackpost'

const SPEED = 10
const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * SPEED,
  random: () => 0,
  setTimer(run, ms) {
    const timer = setTimeout(run, ms / SPEED)
    return () => clearTimeout(timer)
  },
  hold: () => () => {},
}

const { TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST, CLIENT_KEY } = env
// One minute of real time: no request takes that long, even on a slow machine.
const common = { writeKey: WRITE_KEY, host: TRACKPOST_HOST, httpRequestTimeout: 60_000 * SPEED }
const oauthSettings = {
  ...{ clientId: 'client', keyId: 'key', clientKey: CLIENT_KEY },
  authServer: `${TRACKPOST_HOST}/auth`,
}
const further = CLIENT_KEY === undefined ? {} : { oauthSettings, compress: 'gzip' }
const analytics = new Analytics({ ...common, ...further }, clock)
const handingOver = new Analytics({ ...common, ...further, waitUntil }, clock)

if (CLIENT_KEY !== undefined) {
  for (const one of [analytics, handingOver]) {
    one.register({ name: 'sync', type: 'before', load: async () => {}, all: (ctx) => ctx })
    one.register({
      name: 'asynchronous',
      type: 'enrichment',
      async all(ctx) {
        await new Promise((resolve) => setTimeout(resolve, 2))
        return ctx
      },
    })
    one.register({
      name: 'later',
      type: 'after',
      all: () => new Promise((resolve) => setTimeout(resolve, 2)),
    })
  }
}

/** How often callbacks have run, including callbacks of requests that have ended. */
let told = 0

const forms = {
  callback: (event) =>
    new Promise((resolve) =>
      analytics.track(event, (error) => {
        told++
        resolve(error?.code ?? 'delivered')
      }),
    ),
  promise: (event) =>
    analytics.promises.track(event).then(
      () => 'delivered',
      ({ code }) => code,
    ),
  async flush(event) {
    analytics.track(event)
    const { delivered, failed, pending } = await analytics.flush()
    return `${delivered}/${failed}/${pending}`
  },
  waitUntil(event) {
    handingOver.track(event)
    return 'handed over'
  },
  nothing(event) {
    analytics.track(event)
    return 'forgotten'
  },
  // A client for this request alone. Its flush interval never ends.
  ownClient: (event) =>
    new Promise((resolve) =>
      new Analytics({ ...common, ...further, flushInterval: 2_147_483_647 }).track(event, (error) =>
        resolve(error?.code ?? 'delivered'),
      ),
    ),
}

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/stats') return Response.json([{ ...analytics.stats, told }, handingOver.stats])
    const id = searchParams.get('id')
    const outcome = forms[pathname.slice(1)]({
      userId: 'usr_Zoë',
      event: 'Order Completed',
      messageId: `message-${id}`,
    })
    if (!searchParams.has('early')) return new Response(await outcome)
    // Ends the request early, without waiting for `outcome`. With `early=asked`, it ends only when the test server responds.
    if (searchParams.get('early') === 'asked') await fetch(`${TRACKPOST_HOST}/asked`)
    return new Response('early')
  },
}
