import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { replyJson, requireMethod, SECURITY_HEADERS } from '../http/reply.ts'
import { limited } from '../limited.ts'
import type { DestinationState } from '../store/query-results.ts'
import type { Health } from './health.ts'
import type { Meter } from './meter.ts'
import type { Metrics } from './metrics.ts'

export const OPS_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

export interface OpsParts {
  health: Health
  meter: Meter
  version: string
  clock: Clock
  destinations(): Promise<DestinationState[]>
  activeFaults(): number
}

/** If the store takes longer, the metrics are sent without those of destinations. */
const STORE_LIMIT_MS = 2000

export class OpsApi {
  readonly #parts: OpsParts
  #metrics: Promise<Metrics> | undefined

  constructor(parts: OpsParts) {
    this.#parts = parts
  }

  /**
   * @param checkAdmin Throws when the caller may not see the metrics. Probes need no token, because they reveal nothing about
   * events.
   */
  async handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    checkAdmin: () => void,
  ): Promise<void> {
    requireMethod(request, 'GET')
    if (path === '/healthz') return alive(response)
    if (path === '/readyz') return this.#ready(response)
    checkAdmin()
    return this.#sendMetrics(response)
  }

  async #ready(response: ServerResponse): Promise<void> {
    const readiness = await this.#parts.health.readiness()
    replyJson(response, readiness.status === 'ready' ? 200 : 503, readiness)
  }

  async #sendMetrics(response: ServerResponse): Promise<void> {
    this.#metrics ??= this.#load().catch((cause: unknown) => {
      this.#metrics = undefined
      throw cause
    })
    const metrics = await this.#metrics
    const body = await metrics.text()
    response.writeHead(200, {
      ...SECURITY_HEADERS,
      'content-type': metrics.contentType,
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  }

  async #load(): Promise<Metrics> {
    const { Metrics } = await import('./metrics.ts')
    const { health, meter, version, clock, destinations, activeFaults } = this.#parts
    return new Metrics({
      meter,
      version,
      activeFaults,
      now: () => clock.now(),
      parts: () => health.parts(),
      destinations: () =>
        limited(destinations(), STORE_LIMIT_MS, clock, () => []).catch((): DestinationState[] => []),
    })
  }
}

/** Responds in a later turn, which shows that the event loop runs. */
async function alive(response: ServerResponse): Promise<void> {
  await nextTurn()
  replyJson(response, 200, { status: 'alive' })
}
