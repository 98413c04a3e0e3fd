/** Addresses of loopback and of private networks, and names that no public server has: RFC 1918, 4193, 6761, 6762, 9476. */
const LOCAL_HOST =
  /^(?:(?:127|10)\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|169\.254\.[\d.]+|\[(?:::1|f[cd].*|fe[89ab].*)\]|(?:.+\.)?(?:localhost|local|internal|lan)|[^.[]+)\.?$/

/** What documentation prints where a key belongs. A collector on this machine takes it, the service does not. */
const PRINTED_KEY = /^(?:segment|source|trackpost)?(?:write|api)?key$/

/** The settings that are looked at, with every default in place. */
interface Settings {
  readonly writeKey: string
  readonly host: string
  readonly maxQueueSize: number
  readonly flushAt: number
  readonly oauthSettings: object | undefined
}

/** Settings that can be obeyed, but hardly are what was meant: one message each, by the code of its warning. */
export function doubtsAbout(settings: Settings): [code: string, message: string][] {
  const { writeKey, host, maxQueueSize, flushAt, oauthSettings } = settings
  const { protocol, hostname } = new URL(host)
  const isLocal = LOCAL_HOST.test(hostname)
  const doubts: [string, string][] = []
  if (maxQueueSize < flushAt) {
    const settings = `maxQueueSize (${maxQueueSize}) is less than flushAt (${flushAt})`
    doubts.push(['contradiction', `${settings}: the queue is full before there are enough events to be sent`])
  }
  // With OAuth, the credentials say it: a token is worth more than a key.
  if (protocol === 'http:' && !isLocal && oauthSettings === undefined) {
    const risk = `the write key and all events for ${hostname} are sent over plain http, where others can read them`
    doubts.push(['insecure', `host: ${risk}; write 'https://...'`])
  }
  if (!isLocal && PRINTED_KEY.test(writeKey.replace(/[^a-z0-9]/gi, '').toLowerCase())) {
    doubts.push(['placeholder', 'writeKey: this looks like a placeholder, which the service does not take'])
  }
  return doubts
}
