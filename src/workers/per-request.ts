import { Analytics } from '../analytics.ts'
import type { Seams } from '../core/create.ts'
import { claimOwner, type Owner } from '../core/owner.ts'
import { createShared } from '../core/service.ts'
import { DeliveryError, SettingsError } from '../errors/errors.ts'
import { fromCaller } from '../errors/guard.ts'
import { redactor } from '../http/redact.ts'
import { describe } from '../message/describe.ts'
import type { GroupTraits, UserTraits } from '../message/shapes.ts'
import type { AnyEvents } from '../message/types.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import type { PluginFunction } from '../pipeline/registration.ts'
import { SteadyClock, systemClock } from '../runtime/clock.ts'
import { Log } from '../runtime/log.ts'
import { type ResolvedSettings, resolveSettings } from '../settings/resolve.ts'
import type { AnalyticsSettings } from '../settings/settings.ts'

/** Options of {@link perRequest}. */
export interface PerRequestOptions {
  /** Registered with each client. Each of them is loaded once for each request. */
  readonly plugins?: readonly (Plugin | PluginFunction)[]
}

/** Options of the function that {@link perRequest} returns. */
export interface RequestOptions {
  /** Keeps the request alive until a promise has settled. Default: the method `waitUntil` of the request, if there is one. */
  readonly waitUntil?: (promise: Promise<unknown>) => void
}

/**
 * Returns the client of a request: always the same one for the same object, unless that client was closed or belongs to another
 * request. The promise that is handed to `waitUntil` ends when each event has its outcome, at the latest after 25 s.
 *
 * @param request The object that identifies the request: on Cloudflare Workers its `ctx`.
 * @throws SettingsError at module scope of a Worker, where there is no request.
 * @throws DeliveryError with the code `invalid` when `request` is not an object and the setting `strict` is set. Otherwise this
 * is reported once, and the client is for this call alone.
 */
export type AnalyticsOf<Events = AnyEvents, User = UserTraits, Group = GroupTraits> = (
  request: object,
  options?: RequestOptions,
) => Analytics<Events, User, Group>

type Constructor<Client> = new (settings: AnalyticsSettings, seams: Seams) => Client
const NO_SETTINGS = {} as AnalyticsSettings

/**
 * For Cloudflare Workers, where timers, sockets and promises belong to the request that made them: makes one client for each
 * request. These clients share access tokens, and what they have learnt about the service. Works on other platforms too.
 *
 * @param settings The settings of each client. `waitUntil` is used for requests that have none.
 * @throws SettingsError when a setting is missing or invalid, and for a `spool`, which serves one client.
 * @example
 * const analyticsOf = perRequest({ writeKey })
 *
 * export default {
 *   async fetch(request, env, ctx) {
 *     analyticsOf(ctx).track({ userId: 'ada', event: 'Order Completed' })
 *     return new Response()
 *   },
 * }
 */
export function perRequest<Events = AnyEvents, User = UserTraits, Group = GroupTraits>(
  settings: AnalyticsSettings,
  { plugins = [] }: PerRequestOptions = {},
): AnalyticsOf<Events, User, Group> {
  type Client = Analytics<Events, User, Group>
  const resolved = check(settings)
  const all = [...plugins]
  const shared = createShared()
  const clock = new SteadyClock(systemClock)
  const clients = new WeakMap<object, { readonly client: Client; readonly owner: Owner }>()
  const { warn } = new Log(resolved.logger, redactor([resolved.writeKey]))

  const warnOnce = (text: string): void => {
    if (shared.told.has(text)) return
    shared.told.add(text)
    warn('per_request', text)
  }

  const create = (waitUntil: ResolvedSettings['waitUntil'], owner: Owner): Client => {
    const request = { settings: Object.freeze({ ...resolved, waitUntil }), owner, shared }
    const client = new (Analytics as unknown as Constructor<Client>)(NO_SETTINGS, { clock, request })
    if (all.length > 0) void client.register(...all)
    return client
  }

  return function analyticsOf(request, options) {
    if (!isObject(request)) {
      const text = `perRequest: expected the object that identifies the request (ctx), got ${describe(request)}`
      if (resolved.strict) throw fromCaller(new DeliveryError('invalid', text), analyticsOf)
      warnOnce(`${text}; each such call makes a client of its own`)
    } else {
      const found = clients.get(request)
      if (found !== undefined && !found.owner.isClosed && found.owner.isMine()) return found.client
    }
    const waitUntil = waitUntilOf(request, options) ?? resolved.waitUntil
    if (waitUntil === undefined && isObject(request)) {
      warnOnce(
        'perRequest: there is no waitUntil, so the request may end before its events are sent; ' +
          'write analyticsOf(request, { waitUntil }), or await analytics.flush()',
      )
    }
    const owner = claimOwner()
    const client = create(waitUntil, owner)
    if (isObject(request)) clients.set(request, { client, owner })
    return client
  }
}

function check(settings: AnalyticsSettings): ResolvedSettings {
  try {
    const resolved = resolveSettings(settings)
    if (resolved.spool === undefined) return resolved
    throw new SettingsError('spool', 'it serves one client, not one for each request')
  } catch (error) {
    throw fromCaller(error, perRequest)
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function waitUntilOf(request: unknown, options: RequestOptions | undefined): ResolvedSettings['waitUntil'] {
  for (const holder of [options, request] as ({ readonly waitUntil?: unknown } | null | undefined)[]) {
    try {
      const waitUntil = holder?.waitUntil
      // Called as a method: the one of `ctx` throws without its `this`.
      if (typeof waitUntil === 'function') return (promise) => waitUntil.call(holder, promise)
    } catch {
      // The next one is asked.
    }
  }
  return undefined
}
