import { createHash } from 'node:crypto'
import {
  type AttemptResult,
  type BatchSender,
  type ClaimedDelivery,
  type ClickHouseConfig,
  type Clock,
  connectionReason,
} from 'trackpost-collector/ports'
import { outcomeOf } from './refusal.ts'
import { COLUMNS, rowOf } from './row.ts'
import { ClickHouseServer } from './server.ts'
import { type BatchOutcome, sendSplitting } from './split.ts'
import { ensureTable, tableName } from './table.ts'

/** A larger batch is sent in several requests. */
const MAX_REQUEST_CHARACTERS = 8_000_000

interface Row {
  index: number
  line: string
}

export class ClickHouseSender implements BatchSender {
  readonly limit: number
  readonly longestMs: number
  readonly intervalMs: number
  readonly firstDelayMs: number
  readonly #table: string
  readonly #timeoutMs: number
  readonly #server: ClickHouseServer
  readonly #clock: Clock
  readonly #onFault: (cause: unknown) => void
  #isReady = false
  #reported: string | undefined

  /**
   * @param onFault Called with the server's message when the server accepts nothing. Called again only for another reason, or
   * after a success.
   */
  constructor(config: ClickHouseConfig, clock: Clock, onFault: (cause: unknown) => void) {
    this.limit = config.batchSize
    // Up to four timeouts for statements about the table, one in which requests may begin, and one for the last request.
    this.longestMs = config.timeout * 6
    this.intervalMs = config.interval
    this.firstDelayMs = config.firstDelay
    this.#table = tableName(config)
    this.#timeoutMs = config.timeout
    this.#server = new ClickHouseServer(config)
    this.#clock = clock
    this.#onFault = onFault
  }

  async prepare(signal: AbortSignal): Promise<void> {
    await this.#ensureTable(signal)
  }

  async send(batch: readonly ClaimedDelivery[], signal: AbortSignal): Promise<AttemptResult[]> {
    const problem = await this.#ensureTable(signal)
    if (problem !== undefined) return batch.map(() => ({ result: 'retry', reason: problem }))
    const results: AttemptResult[] = []
    const rows: Row[] = []
    for (const [index, delivery] of batch.entries()) {
      try {
        rows.push({ index, line: rowOf(delivery) })
      } catch {
        results[index] = { result: 'failed', reason: 'cannot be written as a row' }
      }
    }
    const startMs = this.#clock.monotonic()
    let isTableSound = false
    const insert = async (group: readonly Row[]): Promise<BatchOutcome> => {
      const outcome = await this.#insert(group, signal)
      if (outcome.kind !== 'refused' || isTableSound) return outcome
      // Checks the table again: if the table was changed, ClickHouse refuses valid rows too.
      this.#isReady = false
      const reason = await this.#ensureTable(signal)
      isTableSound = reason === undefined
      return reason === undefined ? outcome : { kind: 'unavailable', reason }
    }
    await sendSplitting(
      requestsOf(rows),
      insert,
      ({ index }, result) => {
        results[index] = result
      },
      () => !signal.aborted && this.#clock.monotonic() - startMs < this.#timeoutMs,
    )
    return results
  }

  close(): Promise<void> {
    return this.#server.close()
  }

  async #ensureTable(signal: AbortSignal): Promise<string | undefined> {
    if (this.#isReady) return undefined
    const problem = await ensureTable(this.#server, this.#table, signal)
    this.#isReady = problem === undefined
    if (problem !== undefined && !signal.aborted) this.#report(problem.reason, problem.detail)
    return problem?.reason
  }

  async #insert(rows: readonly Row[], signal: AbortSignal): Promise<BatchOutcome> {
    const query = `INSERT INTO ${this.#table} (${Object.keys(COLUMNS).join(', ')}) FORMAT JSONEachRow`
    try {
      const response = await this.#server.run(query, signal, rows.map(({ line }) => line).join(''), {
        date_time_input_format: 'best_effort',
        // With asynchronous inserts, the server could acknowledge rows before they are in the table.
        async_insert: 0,
        // The server ignores a second insert with the same token, for example a repeated one. If the same events come in
        // another batch, the server recognises them by their keys. The token is a hash of the whole rows, because two
        // collectors have keys in common if one began with a copy of the other's database.
        insert_deduplication_token: tokenOf(rows),
      })
      const outcome = outcomeOf(response)
      if (outcome.kind === 'taken') this.#reported = undefined
      else if (outcome.kind !== 'refused') {
        // The table may be the cause, so it is checked before the next batch.
        this.#isReady = false
        this.#report(outcome.reason, response.text)
      }
      return outcome
    } catch (cause) {
      const reason = connectionReason(cause)
      if (!signal.aborted) this.#report(reason)
      return { kind: 'unavailable', reason }
    }
  }

  #report(reason: string, detail = reason): void {
    if (this.#reported === reason) return
    this.#reported = reason
    this.#onFault(new Error(detail.trim().slice(0, 1000)))
  }
}

/** Each group fits into one request. */
function requestsOf(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = []
  let characters = Number.POSITIVE_INFINITY
  for (const row of rows) {
    characters += row.line.length
    if (characters > MAX_REQUEST_CHARACTERS) {
      groups.push([])
      characters = row.line.length
    }
    groups.at(-1)?.push(row)
  }
  return groups
}

function tokenOf(rows: readonly Row[]): string {
  const hash = createHash('sha256')
  for (const { line } of rows) hash.update(line)
  return hash.digest('hex')
}
