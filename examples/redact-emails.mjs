// A plugin that removes e-mail addresses from every event before it leaves the process: WRITE_KEY=... node
// redact-emails.mjs
import { Analytics } from 'trackpost'

const EMAIL = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu

const redactEmails = {
  name: 'redact-emails',
  // `before`, not `enrichment`: if this plugin throws, the event fails. An enrichment plugin would be
  // skipped, and the addresses would be sent.
  type: 'before',
  isLoaded: () => true,
  load: () => {},
  identify: redact,
  track: redact,
  page: redact,
  screen: redact,
  group: redact,
  alias: redact,
}

function redact(ctx) {
  // The event is a copy that belongs to the plugins: the object of the caller does not change.
  ctx.event = redacted(ctx.event)
  return ctx
}

/** The same value with every address in it replaced, at any depth, in keys as well. */
function redacted(value) {
  if (typeof value === 'string') return value.replace(EMAIL, '[e-mail]')
  if (Array.isArray(value)) return value.map(redacted)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redacted(key), redacted(inner)]))
}

const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY,
  // Only for your own service, or for tests: without it, events are sent to the API of the region.
  host: process.env.TRACKPOST_HOST,
})

// No need to wait: events that are tracked while the plugin loads wait for it.
analytics.register(redactEmails)

analytics.identify({
  userId: 'user-1042',
  traits: { name: 'Zoë Åström', email: 'zoe@example.com', plan: 'team' },
})

analytics.track({
  userId: 'user-1042',
  event: 'Invitation Sent',
  properties: {
    note: 'Invited jörg.weiß@bücher.example and li.wei+shop@mail.example.cn today',
    invited: [{ email: 'li.wei+shop@mail.example.cn', role: 'editor' }],
    byAddress: { 'zoe@example.com': { opened: false } },
  },
  context: { page: { url: 'https://shop.example/invite?to=li.wei+shop@mail.example.cn' } },
})

const { delivered, failed } = await analytics.closeAndFlush()

console.log(`delivered: ${delivered}, failed: ${failed}`)
process.exitCode = failed === 0 ? 0 : 1
