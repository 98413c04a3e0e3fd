import { addAbortSignal, Readable } from 'node:stream'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { ClickHouseConfig } from 'trackpost-collector/ports'
import type { ServerResponse } from './refusal.ts'

/** A longer response is not from a ClickHouse server, and is not read to its end. */
const MAX_RESPONSE_CHARACTERS = 1_000_000

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
      // Otherwise, the client would print statements to the console.
      log: { level: ClickHouseLogLevel.OFF },
    })
  }

  /**
   * Rejects if there is no response; with a `TimeoutError` if the response does not come in time.
   *
   * @param body The rows of an INSERT.
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
      // The client stops watching the signal when the response begins, so the stream has to watch it.
      const text = await beginningOf(addAbortSignal(end, response.stream))
      const code = response.response_headers['x-clickhouse-exception-code'] ?? codeIn(text)
      return {
        status: response.http_status_code ?? 0,
        code: code === undefined ? undefined : Number(code),
        text,
      }
    } catch (cause) {
      throw timeout.aborted || (cause as Error).message === 'Timeout error.' ? timeoutError() : cause
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

async function beginningOf(stream: Readable): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream) {
    text += chunk as string
    // Leaving the loop closes the connection.
    if (text.length > MAX_RESPONSE_CHARACTERS) break
  }
  return text
}

/** The header with the code is missing if the exception occurred after the headers were sent, or if a proxy removed it. */
function codeIn(text: string): string | undefined {
  return /^Code: (\d+)\. DB::Exception: /.exec(text)?.[1]
}

function timeoutError(): Error {
  return new DOMException('no response in time', 'TimeoutError')
}
