// A plugin that removes e-mail addresses from every event before it leaves the process.
// To run it: TRACKPOST_WRITE_KEY=... node redact-emails.mjs
import { Analytics } from 'trackpost'

const EMAIL = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu

const redactEmails = {
  name: 'redact-emails',
  // `before`, not `enrichment`: if a `before` plugin throws, the event fails. If an `enrichment` plugin throws, it is skipped,
  // and the addresses would be sent.
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
  // The event is a copy: the caller's object does not change.
  ctx.event = redacted(ctx.event)
  return ctx
}

/** Returns the value with every e-mail address replaced, at any depth, in keys as well. */
function redacted(value) {
  if (typeof value === 'string') return value.replace(EMAIL, '[e-mail]')
  if (Array.isArray(value)) return value.map(redacted)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redacted(key), redacted(inner)]))
}

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

// No `await` is needed: events that are tracked while the plugin loads wait for it.
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
