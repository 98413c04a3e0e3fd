import { createCredentials } from '../auth/credentials.ts'
import type { Encoder } from '../delivery/compression.ts'
import { Delivery } from '../delivery/delivery.ts'
import { Envelope, loadCompression } from '../delivery/envelope.ts'
import { Sender } from '../delivery/sender.ts'
import { describeCause } from '../errors/cause.ts'
import type { OwnHTTPClient } from '../http/client.ts'
import { defaultClient } from '../http/default-client.node.ts'
import { FetchHTTPClient } from '../http/fetch-client.ts'
import type { Item } from '../line/item.ts'
import { Line } from '../line/line.ts'
import type { SpoolConnection } from '../line/spool.ts'
import { type MessageStore, SlabStore } from '../line/store.ts'
import type { Report } from '../pipeline/handler-result.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import type { PluginHost } from '../pipeline/plugin.ts'
import { PluginLoader } from '../pipeline/plugin-loader.ts'
import { TimeLimits } from '../pipeline/time-limits.ts'
import { isSecretHeader, redactor } from '../policy/redact.ts'
import { type Clock, SteadyClock } from '../runtime/clock.ts'
import { detectRuntime } from '../runtime/detect.ts'
import { Log } from '../runtime/log.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import { VERSION } from '../version.ts'
import { disableReader } from './disable.ts'
import type { Emitter, Listeners } from './emitter.ts'
import type { AnalyticsEvents } from './events.ts'
import { Intake } from './intake.ts'
import { Ledger } from './ledger.ts'
import { Lifecycle } from './lifecycle.ts'
import { Monitor, readStatus } from './monitor.ts'
import { Outcomes } from './outcomes.ts'
import type { OwnParts, Parts } from './parts.ts'
import { Registry } from './registry.ts'
import { perRequest } from './requests.node.ts'
import type { PluginChanges } from './requests.ts'
import { scopeReader } from './scopes.ts'
import type { Verification, VerifyOptions } from './verify.ts'
import { Warnings } from './warnings.ts'

const USER_AGENT = `trackpost/${VERSION}`

/**
 * Builds the parts of one client and connects them. An event passes through these parts in this order: intake, pipeline, line,
 * delivery, outcomes.
 *
 * @param givenStore Stores queued messages, instead of the memory or the spool.
 * @param pluginClock Clock for the time limits of plugins. A test that makes `givenClock` run ahead must not shorten these
 * limits.
 * @throws SettingsError when the private key cannot be used, or the spool serves another client.
 */
export function compose(
  settings: ResolvedSettings,
  givenClock: Clock,
  client: Emitter<AnalyticsEvents> & PluginHost,
  listeners: Listeners<AnalyticsEvents>,
  givenStore?: MessageStore,
  pluginClock: Clock = givenClock,
): Parts {
  const clock = new SteadyClock(givenClock)
  const log = new Log(settings.logger, redactor(secretsOf(settings)))
  const warnings = new Warnings(client, listeners, log)
  const countPending = (): number => parts.pending
  const monitor = new Monitor(client, listeners, log, clock, warnings, countPending)
  const { httpClient, host, path, writeKey, httpRequestTimeout } = settings
  const given = typeof httpClient === 'function' ? new FetchHTTPClient(httpClient) : httpClient
  const http: OwnHTTPClient = given ?? defaultClient()
  // Made before the spool is attached: this throws if the key is unreadable, and an attached spool would stay open.
  const sharedCredentials = createCredentials(settings, http, USER_AGENT, clock, log.warn)
  const memory = new SlabStore()
  const metadata = detectRuntime()
  const url = host + path
  let encoder: Encoder | undefined
  const loadEncoder = async (): Promise<Encoder> => {
    if (encoder !== undefined) return encoder
    const loaded = await loadCompression({ client: http, timeoutMs: httpRequestTimeout, clock }, log.warn)
    // All senders share one encoder: when the service refuses gzip, no sender uses it any more.
    encoder ??= loaded
    return encoder
  }
  // Loaded at once, for the reason given in `LazyCredentials`.
  if (settings.compress === 'gzip') void loadEncoder()
  const report: Report = (failure) => warnings.reportPlugin(failure)
  const askDisabled = disableReader(settings.disable, warnings)
  const askScope = scopeReader(settings.scope, warnings)
  const create = (plugins?: PluginLoader): OwnParts => {
    const ledger = new Ledger()
    const pipeline = new Pipeline({
      clock: pluginClock === givenClock ? clock : new SteadyClock(pluginClock),
      client,
      report,
      onRegister: (plugin) => intake.passThrough(plugin),
      plugins,
    })
    const isShared = typeof sharedCredentials === 'string' || plugins === undefined
    const credentials = isShared ? sharedCredentials : sharedCredentials.fork()
    const tokens = typeof credentials === 'string' ? undefined : credentials
    const spool: SpoolConnection | undefined = settings.spool?.attach({
      memory,
      limits: settings,
      isDisabled: settings.disable === true,
      waiting: (): Pick<Line, 'size' | 'bytes'> => line,
      admit: (json, stored, item): boolean => intake.admit(json, stored, item as Item | undefined),
      conclude: (item, isKept) => outcomes.conclude(item as Item, isKept),
      warn: (text) => warnings.reportSpool(text),
    })
    const store = givenStore ?? spool ?? memory
    const outcomes: Outcomes = new Outcomes({
      ledger,
      pipeline,
      store,
      spool,
      clock,
      emitter: client,
      listeners,
      warnings,
      monitor,
      trouble: () => delivery.trouble('retries_exhausted'),
      // Keeps the lifecycle from being garbage collected while events wait: `watchExit` has only a weak reference.
      onDrained: () => lifecycle.onDrained(),
    })
    const line = new Line({ settings, store, spool, displace: (item) => outcomes.displace(item) })
    const intake: Intake = new Intake({
      settings,
      stamp: { library: { name: 'trackpost', version: VERSION }, metadata },
      clock,
      ledger,
      pipeline,
      line,
      store,
      outcomes,
      monitor,
      emitter: client,
      isCallbackUrgent: plugins !== undefined,
      askDisabled,
      askScope,
      onAccepted: settings.waitUntil === undefined ? undefined : () => lifecycle.flushAfterTurn(),
    })
    const envelope = new Envelope(writeKey, store)
    const sender: Sender = new Sender({
      url,
      writeKey,
      userAgent: USER_AGENT,
      headers: settings.headers,
      timeoutMs: httpRequestTimeout,
      client: http,
      tokens,
      envelope,
      loadEncoder: settings.compress === 'gzip' ? loadEncoder : undefined,
      intake,
      observer: monitor,
      clock,
      warn: log.warn,
    })
    const delivery: Delivery = new Delivery({
      settings,
      line,
      maxMessagesBytes: settings.maxBodyBytes - envelope.bytes,
      sender,
      credentials,
      clock,
      warn: log.warn,
      onPause: (waitMs) => monitor.onPause(waitMs),
      observer: monitor,
      outcomes,
    })
    const lifecycle = new Lifecycle({
      settings,
      clock,
      ledger,
      intake,
      pipeline,
      line,
      delivery,
      tokens,
      closeConnections: () => (given === undefined ? http.close?.() : undefined),
      outcomes,
      warnings,
      emitter: client,
      spool,
      countPending,
    })
    const sources = { spool, delivery, monitor, clock, url }
    const verifier = { url, settings, intake, sender, credentials, clock }
    return {
      ...{ intake, ledger, lifecycle, pipeline, warnings },
      registry: new Registry(pipeline, warnings, client),
      get pending() {
        return ledger.pending
      },
      stats: () => ledger.stats(),
      status: () => readStatus(sources),
      verify: () => loadAndVerify(verifier),
    }
  }
  const createPlugins = (clock: Clock, changes: PluginChanges): PluginLoader =>
    new PluginLoader({ limits: new TimeLimits(clock), client, report, ...changes })
  // With a spool, all requests share one set of parts, because the whole process uses one spool.
  const parts: Parts =
    settings.spool === undefined
      ? perRequest({ jsRuntime: metadata.jsRuntime, clock, createPlugins, create })
      : create()
  return parts
}

/** Loads the code of `verify()` on demand, because few programs call it. */
async function loadAndVerify(options: VerifyOptions): Promise<Verification> {
  try {
    const { verify } = await import(/* webpackMode: "eager" */ './verify.ts')
    return await verify(options)
  } catch (error) {
    // The code of `verify` could not be loaded.
    const { url } = options
    return { reachable: false, authorized: undefined, status: undefined, url, hint: describeCause(error) }
  }
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
