import type { Analytics, Verification } from 'trackpost'
import { createClient } from '../client.ts'
import { UsageError } from '../errors.ts'
import { counted, duration } from '../output/text.ts'
import type { FoundConnection } from '../settings/connection.ts'
import { type Finding, note, ok, problem } from './findings.ts'
import { followEvent } from './follow-event.ts'

export interface ExamineOptions extends FoundConnection {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly adminToken: string | undefined
  readonly onWarning: (text: string) => void
  readonly signal: AbortSignal
}

/** A signed token is valid for 60 s, so a clock that differs by more than half of that is a problem. */
const MAX_SKEW_MS = 30_000
const PROXY_NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** Asks the questions of docs/troubleshooting.md that can be answered from outside a program, in their order. */
export async function* examine(options: ExamineOptions): AsyncGenerator<Finding> {
  const { connection, env, onWarning, signal } = options
  yield checkKey(options)
  let skewMs: number | undefined
  let client: Analytics
  try {
    // Without a key, the address can be checked all the same.
    const writeKey = connection.writeKey ?? 'missing'
    client = createClient(
      { ...connection, writeKey, maxRetries: 0, flushAt: 1 },
      {
        warn: onWarning,
        clock: (aheadMs) => {
          skewMs ??= aheadMs
        },
      },
    )
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    yield problem('address', error.message, 'correct this setting')
    return
  }
  try {
    const found = await client.verify()
    const proxy = PROXY_NAMES.find((name) => env[name])
    yield* checkAddress(found, options)
    if (proxy !== undefined) yield checkProxy(proxy, found)
    if (!found.reachable) return
    yield checkRegion(options)
    if (skewMs !== undefined) yield checkClock(skewMs)
    if (connection.writeKey === undefined || found.authorized !== true || found.hint !== undefined) return
    yield await followEvent(client, connection.host, options.adminToken, signal)
  } finally {
    await client.closeAndFlush({ timeout: 2_000 })
  }
}

function checkKey({ connection: { writeKey }, keyFrom }: ExamineOptions): Finding {
  if (writeKey === undefined)
    return problem(
      'key',
      'there is none',
      'use --write-key-file <path>, or set TRACKPOST_WRITE_KEY to the key from the settings of the source',
    )
  if (/^(["']).*\1$/.test(writeKey) || writeKey.trim() !== writeKey) {
    return problem('key', `the one from ${keyFrom} has quotes or spaces around it`, 'remove them')
  }
  return ok('key', `from ${keyFrom}, ${counted(writeKey.length, 'character')}`)
}

function* checkAddress(found: Verification, { connection }: ExamineOptions): Generator<Finding> {
  const { reachable, authorized, status, url, hint } = found
  const details = [status, hint].filter((part) => part !== undefined).join(': ')
  if (!reachable) {
    yield problem('address', `${url} cannot be reached: ${hint ?? 'no response'}`, networkRemedy(hint ?? ''))
    return
  }
  if (authorized === true) {
    const what = connection.writeKey === undefined ? 'responds' : 'accepts the write key'
    if (hint === undefined) yield ok('address', `${url} ${what} (${status})`)
    else yield problem('address', `${url}: ${details}`, 'check the host, and proxies on the way')
    return
  }
  if (authorized === false) {
    const remedy =
      'copy the key from the settings of the source; is it a source of this workspace and region?'
    if (connection.writeKey !== undefined) yield problem('key', `${url} refuses it (${details})`, remedy)
    else yield ok('address', `${url} responds (${status})`)
    return
  }
  yield problem('address', `${url} does not accept events (${details})`, statusRemedy(status ?? 0))
}

function networkRemedy(hint: string): string {
  if (/ENOTFOUND|EAI_AGAIN/.test(hint)) return 'check the spelling of the host, and the DNS of this machine'
  if (/ECONNREFUSED/.test(hint))
    return 'nothing listens there: check host and port, and start the service (npx trackpost-collector starts a local one)'
  if (hint.includes('does not speak TLS'))
    return 'write http:// if the service has no TLS, or the port where it speaks https'
  if (hint.includes('ALTNAME')) return 'the certificate is for another host: write the one that it names'
  if (/HAS_EXPIRED|NOT_YET_VALID/.test(hint))
    return 'the certificate is not valid today: renew it, and check the clock of this machine'
  if (/CERT|SELF_SIGNED|certificate|SSL|TLS/i.test(hint))
    return 'the certificate is not trusted: give the authority in NODE_EXTRA_CA_CERTS, or an httpClient'
  return 'check scheme and port, and ask who runs this network about its firewall; if requests must go through a proxy, set an httpClient'
}

function statusRemedy(status: number): string {
  if (status === 429) return 'the service limits the rate: wait, and send fewer requests at a time'
  if (status === 407) return 'a proxy on the way asks for credentials: set an httpClient that has them'
  if (status >= 300 && status < 400) return 'set the host to the address to which it redirects'
  if (status >= 500) return 'the service fails: look at its own status; events wait and are sent later'
  return 'check the host: is it the base URL of the service, without /v1/batch?'
}

/** The commands, like a client without an `httpClient`, connect directly. */
function checkProxy(name: string, { reachable }: Verification): Finding {
  const remedy =
    'set an httpClient: https://github.com/trackpost/trackpost/blob/main/docs/recipes.md#send-events-through-a-proxy'
  return reachable
    ? note('proxy', `${name} is set; the client does not use it, and needs none to reach this address`)
    : problem('proxy', `${name} is set, but the client does not use it`, remedy)
}

function checkRegion({ connection: { host, region }, placeFrom }: ExamineOptions): Finding {
  if (host !== undefined) return ok('region', `the host from ${placeFrom} decides`)
  if (region === 'eu') return ok('region', `eu, from ${placeFrom}`)
  return note(
    'region',
    'default',
    'is this an EU workspace? Then use --region eu, and region: "eu" in programs: elsewhere, its events get a 200 and never appear',
  )
}

function checkClock(skewMs: number): Finding {
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return ok('clock', 'agrees with that of the service')
  const side = skewMs > 0 ? 'ahead of' : 'behind'
  return problem(
    'clock',
    `${duration(Math.abs(skewMs))} ${side} that of the service`,
    'set the clock of this machine (NTP): events get wrong times, and OAuth tokens are refused',
  )
}
