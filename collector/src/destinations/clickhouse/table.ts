import { connectionReason } from '../reason.ts'
import { refusalReason, type ServerResponse, UNKNOWN_TABLE, unlikeClickHouse } from './refusal.ts'
import { COLUMNS } from './row.ts'
import type { ClickHouseServer } from './server.ts'

/** `database`.`table`, quoted. The config takes no names that would need more. */
export function tableName({ database, table }: { database: string; table: string }): string {
  return `\`${database}\`.\`${table}\``
}

/** Days are no partitions: a month of events in one is what the server is at ease with. The order makes repeats neighbours. */
export function createTable(name: string): string {
  const columns = Object.entries(COLUMNS).map(([column, type]) => `  ${column} ${type}`)
  return [
    `CREATE TABLE IF NOT EXISTS ${name} (`,
    columns.join(',\n'),
    ') ENGINE = ReplacingMergeTree',
    'PARTITION BY toYYYYMM(received_at)',
    'ORDER BY (source, event, timestamp, key)',
    'SETTINGS non_replicated_deduplication_window = 1000',
  ].join('\n')
}

/**
 * Makes the table when it is absent; one that is there is used as it is when it has the columns.
 *
 * @returns Why the table cannot be used, and what the server said of it; undefined = it can.
 */
export async function ensureTable(
  server: ClickHouseServer,
  name: string,
  signal: AbortSignal,
): Promise<{ reason: string; detail?: string } | undefined> {
  try {
    // Asked first: to write into a table that is there, nobody needs the right to make one.
    let response = await server.run(`DESCRIBE TABLE ${name} FORMAT JSONEachRow`, signal)
    if (response.code !== UNKNOWN_TABLE) return problemOf(response)
    response = await server.run(createTable(name), signal)
    return isRefused(response) ? refused(response) : undefined
  } catch (cause) {
    return { reason: connectionReason(cause) }
  }
}

function problemOf(response: ServerResponse): { reason: string; detail?: string } | undefined {
  if (isRefused(response)) return refused(response)
  const types = typesIn(response.text)
  if (types === undefined) return { reason: unlikeClickHouse(response), detail: response.text }
  for (const [column, wanted] of Object.entries(COLUMNS)) {
    const type = types.get(column)
    if (type === undefined) return { reason: `the table has no column ${column}` }
    if (family(type) !== family(wanted)) {
      return { reason: `the column ${column} is ${type}, not ${wanted}` }
    }
  }
  return undefined
}

/** The types of columns by their names; undefined when that is no description of a table. */
function typesIn(text: string): Map<string, string> | undefined {
  const types = new Map<string, string>()
  try {
    for (const line of text.split('\n')) {
      if (line === '') continue
      const { name, type } = JSON.parse(line) as { name: unknown; type: unknown }
      types.set(String(name), String(type))
    }
    return types
  } catch {
    return undefined
  }
}

/** Which values a column takes. */
function family(type: string): string {
  const inner = type.replace(/^(?:LowCardinality\(|Nullable\()+/, '')
  const base = /^[A-Za-z]*/.exec(inner)?.[0] ?? ''
  return { FixedString: 'String', DateTime64: 'DateTime' }[base] ?? base
}

function isRefused({ status, code }: ServerResponse): boolean {
  return code !== undefined || status < 200 || status > 299
}

function refused(response: ServerResponse): { reason: string; detail: string } {
  return { reason: refusalReason(response), detail: response.text }
}
