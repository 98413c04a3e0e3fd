import { addAbortSignal, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { DestinationConfig } from '../../config/schema.ts'
import type { ServerResponse } from './refusal.ts'

export type ClickHouseConfig = Extract<DestinationConfig, { type: 'clickhouse' }>

/** Statements to one ClickHouse server, and its responses as they are. */
export class ClickHouseServer {
  readonly #client: ReturnType<typeof createClient>
  readonly #timeoutMs: number

  constructor({ url, username, password, timeout }: ClickHouseConfig) {
    const { origin, pathname } = new URL(url)
    this.#timeoutMs = timeout
    this.#client = createClient({
      url: origin,
      pathname,
      username,
      password,
      application: 'trackpost-collector',
      request_timeout: timeout,
      // It would write statements to the console.
      log: { level: ClickHouseLogLevel.OFF },
    })
  }

  /**
   * Rejects when there was no response: with a `TimeoutError` when it did not come in time.
   *
   * @param body What an INSERT inserts.
   */
  async run(
    query: string,
    signal: AbortSignal,
    body?: string,
    settings?: Record<string, string | number>,
  ): Promise<ServerResponse> {
    const timeout = AbortSignal.timeout(this.#timeoutMs)
    const end = AbortSignal.any([signal, timeout])
    try {
      const response = await this.#client.exec({
        query,
        ...(body === undefined ? {} : { values: Readable.from([body]) }),
        clickhouse_settings: { wait_end_of_query: 1, ...settings },
        abort_signal: end,
        ignore_error_response: true,
      })
      const code = response.response_headers['x-clickhouse-exception-code']
      return {
        status: response.http_status_code ?? 0,
        code: code === undefined ? undefined : Number(code),
        // The client minds the signal only until a response begins.
        text: await text(addAbortSignal(end, response.stream)),
      }
    } catch (cause) {
      throw timeout.aborted || (cause as Error).message === 'Timeout error.' ? timeoutError() : cause
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

function timeoutError(): Error {
  return new DOMException('no response in time', 'TimeoutError')
}
