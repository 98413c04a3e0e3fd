import { ConfigError } from './config/config-error.ts'
import { notFound } from './http/reply.ts'
import { listen } from './http/server.ts'
import { withoutBrackets } from './network-address.ts'
import type { NewEvent } from './new-event.ts'
import { safeOnFault } from './on-fault.ts'
import { type Counted, Counts } from './ops/counts.ts'
import { type CollectorOptions, checkAddress, DEFAULT_PORT, readConfig, readPlan } from './options.ts'
import { Router } from './router.ts'
import { systemClock } from './system-clock.ts'

/** Options of a front: the tracking API of the collector without its store and its page. */
export interface FrontOptions
  extends Pick<
    CollectorOptions,
    'port' | 'host' | 'allowPublic' | 'plan' | 'limits' | 'onFault' | 'clock' | 'config'
  > {
  /**
   * Keeps the events of one request: accepted ones, and those that the service would not accept, with their reason. When it resolves,
   * the request is answered with 200; when it rejects, with 503 and `Retry-After`. Never called without events.
   */
  append(events: readonly NewEvent[]): Promise<void>
  /** Why `/readyz` should answer 503, in one sentence; null if events can be kept. Default: always null. */
  whyNotReady?(): string | null | Promise<string | null>
  /** Further lines for `/metrics`, in the text format of Prometheus. Default: none. */
  metrics?(): string
}

/** A front that listens. */
export interface Front extends AsyncDisposable {
  /** Base URL without a slash at the end. */
  readonly url: string
  readonly port: number
  /** Counts since the start, as in `/metrics`. Repeats are not known to a front. */
  counts(): Counted
  /** Answers the requests in flight, for at most five seconds, and closes the port. */
  close(): Promise<void>
}

/**
 * Starts a front: `/v1/*` with the judgement, limits and answers of a collector, and `/healthz`, `/readyz` and `/metrics`.
 *
 * @throws ConfigError when a setting is invalid or the address is public, and for `oauth`: tokens are known to one process alone.
 * The system's error when the port is in use.
 */
export async function createFront(options: FrontOptions): Promise<Front> {
  const config = await readConfig(options.config)
  if (config.oauth !== undefined) throw new ConfigError('oauth: a front issues no tokens')
  const host = withoutBrackets(options.host ?? '127.0.0.1')
  const clock = options.clock ?? systemClock
  const counts = new Counts()
  const router = new Router({
    ...{ config, clock, counts },
    isLocal: await checkAddress(host, options.allowPublic ?? false),
    plan: await readPlan(options.plan),
    onFault: safeOnFault(options.onFault),
    sink: {
      failure: 'the events cannot be kept',
      async append(events) {
        if (events.length > 0) await options.append(events)
        for (const { reason } of events) counts.recorded(reason)
        return events
      },
    },
    ops: {
      whyNotReady: () => options.whyNotReady?.() ?? null,
      metrics: () => `${counts.text}${options.metrics?.() ?? ''}`,
      checkAdmin() {},
    },
    other: async () => {
      throw notFound()
    },
  })
  const server = await listen(options.port ?? DEFAULT_PORT, host, options.limits, clock, router)
  return {
    url: server.url,
    port: server.port,
    counts: () => counts.state,
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}
