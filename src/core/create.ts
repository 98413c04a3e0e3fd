import { createCredentials } from '../auth/credentials.ts'
import { disableReader } from '../client/disable.ts'
import type { Emitter, Listeners } from '../client/emitter.ts'
import type { AnalyticsEvents } from '../client/events.ts'
import { Monitor } from '../client/monitor.ts'
import { scopeReader } from '../client/scopes.ts'
import { Warnings } from '../client/warnings.ts'
import type { Encoder } from '../delivery/compression.ts'
import { Envelope, loadCompression } from '../delivery/envelope.ts'
import { Sender } from '../delivery/sender.ts'
import { DeliveryError } from '../errors/errors.ts'
import type { OwnHTTPClient } from '../http/client.ts'
import { defaultClient } from '../http/default-client.node.ts'
import { FetchHTTPClient } from '../http/fetch-client.ts'
import type { Item } from '../line/item.ts'
import { Line } from '../line/line.ts'
import { type MessageStore, SlabStore } from '../line/store.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import type { PluginHost } from '../pipeline/plugin.ts'
import { isSecretHeader, redactor } from '../policy/redact.ts'
import { type Clock, SteadyClock } from '../runtime/clock.ts'
import { detectRuntime, runtimeProcess } from '../runtime/detect.ts'
import { listenToExit } from '../runtime/exit.node.ts'
import { Log } from '../runtime/log.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { Warn } from '../runtime/warn.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { VERSION } from '../version.ts'
import { admit } from './accept.ts'
import { onEnd, onExit } from './close.ts'
import type { Core } from './core.ts'
import { createCounts, pendingOf } from './counts.ts'
import { claimOwner, type Owner } from './owner.ts'
import { createService } from './service.ts'
import { deferred, settle } from './settle.ts'
import type { Shared } from './shared.ts'

const USER_AGENT = `trackpost/${VERSION}`

/** What a test kit replaces. */
export interface Seams {
  readonly clock: Clock
  readonly request?: OneRequest
  /** For the time limits of plugins: a clock that runs ahead must not shorten these. Default: `clock`. */
  readonly pluginClock?: Clock
  /** Stores messages instead of the memory or the spool. */
  readonly store?: MessageStore
}

/** A client of `perRequest`: the settings are checked, and the request has been claimed. */
export interface OneRequest {
  readonly settings: ResolvedSettings
  readonly owner: Owner
  readonly shared: Shared
}

/**
 * Makes the state of one client.
 *
 * @throws SettingsError when the private key cannot be used, the spool serves another client, or a Worker handles no request.
 */
export function createCore(
  settings: ResolvedSettings,
  client: Emitter<AnalyticsEvents> & PluginHost,
  listeners: Listeners<AnalyticsEvents>,
  seams: Seams,
): Core {
  const { shared, owner = claimOwner() } = seams.request ?? {}
  const clock = new SteadyClock(seams.clock)
  const pluginClock = seams.pluginClock === undefined ? clock : new SteadyClock(seams.pluginClock)
  const log = new Log(settings.logger, redactor(secretsOf(settings)))
  const warnings = new Warnings(client, listeners, log, shared?.told)
  const warn: Warn = shared === undefined ? log.warn : (code, text) => warnings.tellOnce(code, text)
  const monitor = new Monitor(client, listeners, log, clock, warnings, () => pendingOf(core.counts))
  const given =
    typeof settings.httpClient === 'function' ? new FetchHTTPClient(settings.httpClient) : settings.httpClient
  const http: OwnHTTPClient = given ?? defaultClient()
  // Made before the spool is attached: this throws if the key is unreadable, and an attached spool would stay open.
  const credentials = createCredentials(settings, http, USER_AGENT, clock, shared?.tokens)
  const memory = new SlabStore()
  const line = new Line(settings)
  const spool = settings.spool?.attach({
    memory,
    limits: settings,
    isDisabled: settings.disable === true,
    waiting: () => line,
    admit: (json, stored, item) => admit(core, json, stored, item as Item | undefined),
    conclude: (item, isKept) => settleSpooled(core, item as Item, isKept),
    warn: (text) => warnings.reportSpool(text),
  })
  const store = seams.store ?? spool ?? memory
  const envelope = new Envelope(settings.writeKey, store)
  const most = { events: settings.maxRequestEvents, bytes: settings.maxBodyBytes - envelope.bytes }
  const counts = createCounts()
  const core: Core = {
    settings,
    clock,
    client,
    listeners,
    warnings,
    monitor,
    stamp: { library: { name: 'trackpost', version: VERSION }, metadata: detectRuntime() },
    askScope: scopeReader(settings.scope, warnings),
    askDisabled: disableReader(settings.disable, warnings),
    isCallbackUrgent: mayFreeze(),
    counts,
    line,
    store,
    memory: seams.store ?? memory,
    spool,
    pipeline: new Pipeline(pluginClock, client, (failure) => warnings.reportPlugin(failure)),
    sender: new Sender({
      url: settings.host + settings.path,
      writeKey: settings.writeKey,
      userAgent: USER_AGENT,
      headers: settings.headers,
      timeoutMs: settings.httpRequestTimeout,
      client: http,
      tokens: typeof credentials === 'string' ? undefined : credentials,
      envelope,
      loadEncoder: encoderOf(settings, http, clock, warn),
      isLast: () => core.isClosed,
      observer: monitor,
      clock,
      warn,
    }),
    credentials,
    service: createService(most, settings),
    shared,
    sharedVersion: 0,
    owner,
    isHandedOver:
      settings.waitUntil !== undefined &&
      (shared !== undefined || detectRuntime().jsRuntime === 'cloudflare-worker'),
    asyncContext: new AsyncResource('Trackpost'),
    closeConnections: () => (given === undefined ? http.close?.() : undefined),
    inPlugins: new Set(),
    inFlight: new Set(),
    flushes: [],
    leaving: new Set(),
    early: [],
    untold: new Map(),
    fullError: undefined,
    displacedError: undefined,
    telling: [],
    callbackWork: new Set(),
    isPassScheduled: false,
    afterPass: [],
    isFlushRequested: false,
    isTurnHandedOver: false,
    passes: 0,
    cancelWatch: undefined,
    cancelInterval: undefined,
    wakeUp: undefined,
    isClosed: false,
    closing: undefined,
    exiting: {
      get accepted() {
        return counts.accepted
      },
      onExit: () => onExit(core),
      onEnd: () => onEnd(core),
      keptAt: undefined,
      isRepeated: false,
    },
    isExiting: false,
    exitLosses: 0,
    isEnding: false,
  }
  listenToExit()
  return core
}

/** Settles an event that was only in the spool: it is kept for the next start, or lost. */
function settleSpooled(core: Core, item: Item, isKept: boolean): void {
  item.stored = undefined
  const text = 'it was in the spool alone, where it cannot be read any more'
  settle(core, item, isKept ? deferred() : new DeliveryError('spool', text))
}

/** Loads the code for compression at once: by the first event, the process might have run out of file descriptors. */
function encoderOf(
  { compress, httpRequestTimeout: timeoutMs }: ResolvedSettings,
  client: OwnHTTPClient,
  clock: Clock,
  warn: Warn,
): (() => Promise<Encoder>) | undefined {
  if (compress !== 'gzip') return undefined
  const loading = loadCompression({ client, timeoutMs, clock }, warn)
  return () => loading
}

/** Variables of platforms that freeze or end a process between requests. @see docs/spec.md, section 6 */
const FREEZING = [
  'AWS_LAMBDA_FUNCTION_NAME',
  'VERCEL',
  'NETLIFY',
  'FUNCTION_TARGET',
  'FUNCTIONS_WORKER_RUNTIME',
]

function mayFreeze(): boolean {
  const { jsRuntime } = detectRuntime()
  if (jsRuntime === 'cloudflare-worker' || jsRuntime === 'vercel-edge') return true
  // Other runtimes may ask the user for permission to read the environment.
  if (jsRuntime !== 'node' && jsRuntime !== 'bun') return false
  return FREEZING.some((name) => (runtimeProcess?.env?.[name] ?? '') !== '')
}

/** Without access tokens: text that might quote a token is redacted where that text is made. */
function secretsOf({ writeKey, headers = {}, oauthSettings }: ResolvedSettings): string[] {
  const ofHeaders = Object.entries(headers).filter(([name]) => isSecretHeader(name))
  const key = oauthSettings?.clientKey
  return [
    ...[writeKey, btoa(`${writeKey}:`), ...ofHeaders.map(([, value]) => value)],
    ...(typeof key === 'string' ? [key] : []),
  ]
}
