// A Worker with a client for each request. Requests wait for their events in different ways (`forms`).
import { env } from 'cloudflare:workers'
import { Analytics } from 'trackpost'
import { perRequest } from 'trackpost/workers'

const { TRACKPOST_WRITE_KEY: writeKey, TRACKPOST_HOST: host, CLIENT_KEY: clientKey } = env
const settings = { writeKey, host }
if (clientKey !== undefined) {
  const client = { clientId: 'client', keyId: 'key', clientKey }
  Object.assign(settings, { compress: 'gzip', oauthSettings: { ...client, authServer: `${host}/auth` } })
}
const pause = () => new Promise((resolve) => setTimeout(resolve, 2))
const plugins = [
  { name: 'sync', type: 'before', load: async () => {}, all: (ctx) => ctx },
  { name: 'asynchronous', type: 'enrichment', all: (ctx) => pause().then(() => ctx) },
  { name: 'later', type: 'after', all: pause },
]

const analyticsOf = perRequest(settings, { plugins: clientKey === undefined ? [] : plugins })
const strictOf = perRequest({ ...settings, strict: true })

let refusal
try {
  new Analytics(settings)
} catch (error) {
  refusal = `${error.name}: ${error.message}`
}

let kept
let keptStrict
const messageOf = (run) => {
  try {
    return run()
  } catch (error) {
    return error.message
  }
}
const outcomeOf = (analytics, event) =>
  new Promise((resolve) => analytics.track(event, (error) => resolve(error?.code ?? 'delivered')))

const forms = {
  callback(event, ctx) {
    return outcomeOf(analyticsOf(ctx), event)
  },
  promise: (event, ctx) =>
    analyticsOf(ctx)
      .promises.track(event)
      .then(
        () => 'delivered',
        ({ code }) => code,
      ),
  async flush(event, ctx) {
    analyticsOf(ctx).track(event)
    const { delivered, failed, pending } = await analyticsOf(ctx).flush()
    return `${delivered}/${failed}/${pending}`
  },
  waitUntil(event, ctx) {
    analyticsOf(ctx).track(event)
    return 'handed over'
  },
  beside(event, ctx, request) {
    analyticsOf(request, { waitUntil: (promise) => ctx.waitUntil(promise) }).track(event)
    return 'handed over'
  },
  // A client for this request alone. Its flush interval never ends.
  ownClient: (event) => outcomeOf(new Analytics({ ...settings, flushInterval: 2_147_483_647 }), event),
  // Ends without waiting, and hands nothing over.
  nothing(event) {
    outcomeOf(analyticsOf({}), event)
    return 'forgotten'
  },
  scope: () => refusal,
  keep(_, ctx) {
    kept = analyticsOf(ctx)
    keptStrict = strictOf(ctx)
    return 'kept'
  },
  async kept(event, ctx) {
    const errors = []
    kept.track(event, (error) => errors.push(`${error.code}: ${error.message}`))
    const during = errors.length
    await kept.promises.track(event).catch(({ message }) => errors.push(message))
    errors.push(messageOf(() => keptStrict.track(event)))
    const summaries = [await kept.flush(), await kept.closeAndFlush()]
    const { accepted, failed, pending } = kept.stats
    const own = await outcomeOf(analyticsOf(ctx), event)
    return JSON.stringify({ during, errors, summaries, accepted, failed, pending, own })
  },
  // The first output of an isolate may run microtasks inside of the call that makes it.
  async console(event, ctx) {
    const analytics = analyticsOf(ctx)
    const outcomes = []
    const properties = {
      get total() {
        console.log('read')
        Promise.resolve().then(() => console.error('later'))
        return 12.5
      },
    }
    const invalid = { event: 'Order Completed' }
    let during = 0
    for (const given of [
      { ...event, properties },
      invalid,
      { ...event, messageId: `${event.messageId}-2` },
    ]) {
      let hasReturned = false
      analytics.track(given, (error) => {
        if (!hasReturned) during++
        outcomes.push(error?.code ?? 'delivered')
      })
      hasReturned = true
      console.warn('tracked')
    }
    await analytics.flush()
    const { accepted, delivered, failed, pending } = analytics.stats
    return JSON.stringify({ during, outcomes: outcomes.sort(), accepted, delivered, failed, pending })
  },
}

export default {
  async fetch(request, _, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    const messageId = `message-${searchParams.get('id')}`
    const event = { userId: 'usr_Zoë', event: 'Order Completed', messageId }
    return new Response(await forms[pathname.slice(1)](event, ctx, request))
  },
}
