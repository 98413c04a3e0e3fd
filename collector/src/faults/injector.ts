import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { HttpProblem, JSON_TYPE, SECURITY_HEADERS } from '../http/reply.ts'
import type { Exchange } from '../http/request-notes.ts'
import type { FaultRule, Faults } from './rules.ts'

export class FaultInjector {
  readonly #faults: Faults
  readonly #clock: Clock
  /** Responses that are never sent. Their connections stay open, at most until the collector closes. */
  readonly #hanging = new Set<ServerResponse>()

  constructor(faults: Faults, clock: Clock) {
    this.#faults = faults
    this.#clock = clock
  }

  get isActive(): boolean {
    return this.#faults.active > 0
  }

  /**
   * Resolves with false if the request is to be handled as usual.
   *
   * @param path The path without repeated slashes.
   * @param sourceOf Returns the name of the source, if it is known. Called only when a fault is limited to a source.
   */
  async inject(
    { request, response, notes }: Exchange,
    path: string,
    sourceOf: () => string | undefined,
  ): Promise<boolean> {
    const rule = this.#faults.take(path, sourceOf)
    if (rule === undefined) return false
    if (rule.delay > 0) await this.#wait(rule.delay, response)
    const isHandled = response.destroyed || rule.reset || rule.hang || rule.status !== null
    if (!isHandled) return false
    notes.fault = rule.id
    if (response.destroyed) return true
    if (rule.reset) request.socket.resetAndDestroy()
    else if (rule.hang) this.#hold(response)
    else if (rule.status !== null) respond(rule, rule.status, response)
    return true
  }

  #wait(delayMs: number, response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      response.once('close', resolve).once('close', this.#clock.setTimer(resolve, delayMs))
    })
  }

  #hold(response: ServerResponse): void {
    this.#hanging.add(response)
    response.once('close', () => this.#hanging.delete(response))
  }

  /** Ends the hanging requests, so that closing the collector does not wait for them. */
  close(): void {
    for (const response of this.#hanging) response.destroy()
  }
}

function respond({ headers, body }: FaultRule, status: number, response: ServerResponse): void {
  const said = new HttpProblem(status, 'fault_on_demand', 'this response is a fault injected on demand').body
  const usual = status >= 400 ? said : '{"success":true}'
  const hasBody = status !== 204 && status !== 304
  response.writeHead(status, { ...SECURITY_HEADERS, 'content-type': JSON_TYPE, ...headers })
  response.end(hasBody ? (body ?? usual) : undefined)
}
