import { createAuthorization } from '../auth/authorization.ts'
import { Envelope } from '../delivery/envelope.ts'
import { Transport } from '../delivery/transport.ts'
import { describeCause } from '../errors/cause.ts'
import type { Emitter, Listeners } from '../events/emitter.ts'
import type { AnalyticsEvents } from '../events/events.ts'
import { Observer } from '../events/observer.ts'
import type { HTTPClient, OwnHTTPClient } from '../http/client.ts'
import { defaultClient } from '../http/default-client.node.ts'
import { FetchHTTPClient } from '../http/fetch-client.ts'
import { isSecretHeader, redactor } from '../http/redact.ts'
import { MessageStore } from '../message/store.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import type { PluginHost } from '../pipeline/plugin.ts'
import { type Clock, SteadyClock, soon } from '../runtime/clock.ts'
import { detectRuntime, runtimeProcess } from '../runtime/detect.ts'
import { listenToExit } from '../runtime/exit.node.ts'
import { Log } from '../runtime/log.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { VERSION } from '../version.ts'
import { admit } from './accept.ts'
import { onExit, onIdle } from './close.ts'
import type { Core } from './core.ts'
import { createCounts } from './counts.ts'
import { disableReader } from './disable.ts'
import { Line } from './line.ts'
import { claimOwner, type Owner } from './owner.ts'
import { pump } from './pump.ts'
import { scopeReader } from './scopes.ts'
import { createGate, createService, type Shared } from './service.ts'

const USER_AGENT = `trackpost/${VERSION}`

/** What a test kit replaces. */
export interface Seams {
  readonly clock: Clock
  readonly request?: OneRequest
  /** For the time limits of plugins: a clock that runs ahead must not shorten these. Default: `clock`. */
  readonly pluginClock?: Clock
  /** Stores messages instead of the memory. */
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
 * @throws SettingsError when the private key cannot be used, or a Worker handles no request.
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
  const observer = new Observer(client, listeners, log, clock, shared?.told)
  const given =
    typeof settings.httpClient === 'function' ? new FetchHTTPClient(settings.httpClient) : settings.httpClient
  const own: OwnHTTPClient | undefined = given === undefined ? defaultClient() : undefined
  const http = given ?? (own as OwnHTTPClient)
  // Made before the journal is opened: this throws if the key is unreadable, and the journal would stay open.
  const credentials = createAuthorization(settings, http, USER_AGENT, clock, shared?.tokens)
  const store = seams.store ?? new MessageStore()
  const envelope = new Envelope(settings.writeKey, store)
  const service =
    shared?.service ?? createService(settings.maxRequestEvents, settings.maxBodyBytes - envelope.bytes)
  if (shared !== undefined) shared.service = service
  // Without requests, nothing waits, and what earlier processes have left stays.
  const spool = settings.disable === true ? undefined : settings.spool
  const journal = spool?.open({
    clock,
    warn: (text) => observer.onJournal(text),
    onFound: () => recover(core),
  })
  const core: Core = {
    settings,
    clock,
    client,
    listeners,
    observer,
    stamp: { library: { name: 'trackpost', version: VERSION }, metadata: detectRuntime() },
    askScope: scopeReader(settings.scope, observer),
    askDisabled: disableReader(settings.disable, observer),
    isCallbackUrgent: mayFreeze(),
    store,
    journal,
    recover: () => recover(core),
    pipeline: new Pipeline(pluginClock, client, (failure) => observer.onPluginFailure(failure)),
    transport: new Transport({
      url: settings.host + settings.path,
      writeKey: settings.writeKey,
      userAgent: USER_AGENT,
      headers: settings.headers,
      timeoutMs: settings.httpRequestTimeout,
      client: settings.compress === 'gzip' ? compressedLater(http, observer) : http,
      credentials,
      envelope,
      onRoom: () => soon(() => pump(core, clock.monotonic())),
      observer,
      clock,
    }),
    credentials,
    closeConnections: () => own?.close?.(),
    owner,
    isHandedOver:
      settings.waitUntil !== undefined &&
      (shared !== undefined || detectRuntime().jsRuntime === 'cloudflare-worker'),
    asyncContext: new AsyncResource('Trackpost'),
    counts: createCounts(),
    service,
    turn: [],
    passing: [],
    inPlugins: new Set(),
    line: new Line(),
    parts: [],
    partsGate: createGate(),
    wasPart: false,
    held: [],
    inFlight: new Set(),
    flushes: new Set(),
    leaving: new Set(),
    pluginWork: new Map(),
    callbackWork: new Map(),
    isPassScheduled: false,
    afterPass: [],
    isFlushRequested: false,
    isTurnHandedOver: false,
    fullError: undefined,
    unkept: [],
    passes: 0,
    cancelWatch: undefined,
    intervalMs: Number.POSITIVE_INFINITY,
    timer: undefined,
    isClosed: false,
    closing: undefined,
    exiting: { onIdle: () => onIdle(core), onExit: () => onExit(core) },
    wasKept: false,
    isEnding: false,
  }
  listenToExit()
  if (journal !== undefined) soon(() => recover(core))
  return core
}

/** A file of a journal has about so many events, or bytes. */
const FILE_EVENTS = 1_000
const FILE_BYTES = 1_000_000

/**
 * Takes over one file that an earlier process has left. With what waits, it takes at most half of the room, so that it displaces
 * nothing; further files follow when requests have ended.
 */
function recover(core: Core): void {
  const { journal, counts, settings } = core
  if (journal === undefined || core.isClosed) return
  const pending = counts.pending
  const isRoomy =
    2 * (pending + FILE_EVENTS) <= settings.maxQueueSize &&
    2 * (counts.bytes + FILE_BYTES) <= settings.maxQueueBytes
  if (pending > 0 && !isRoomy) return
  for (const one of journal.recover()) if (!admit(core, one)) journal.settled(one.record)
}

/** The code for compression, which few clients need, is loaded with the first request. If that fails, nothing is compressed. */
function compressedLater(http: HTTPClient, observer: Observer): HTTPClient & { takesBytes(): boolean } {
  const onGivenUp = (why: string): void =>
    observer.tellOnce('compress', `request bodies are sent uncompressed from now on: ${why}`)
  const loading = import(/* webpackMode: "eager" */ '../http/compress.ts').then(({ compressing }) =>
    compressing(http, onGivenUp),
  )
  loading.catch((error) => onGivenUp(`the code could not be loaded: ${describeCause(error)}`))
  return {
    takesBytes: () => true,
    makeRequest: (request) => loading.then((client) => client.makeRequest(request)),
  }
}

/** Variables of platforms that freeze or end a process between requests. @see docs/spec.md, section 6 */
const FREEZING = [
  'AWS_LAMBDA_FUNCTION_NAME',
  'VERCEL',
  'NETLIFY',
  'K_SERVICE',
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
