import { connectionReason } from '../reason.ts'
import { refusalReason, type ServerResponse, UNKNOWN_TABLE, unlikeClickHouse } from './refusal.ts'
import { COLUMNS } from './row.ts'
import type { ClickHouseServer } from './server.ts'

/** The quoted name, `database`.`table`. The config allows only names in which nothing has to be escaped. */
export function tableName({ database, table }: { database: string; table: string }): string {
  return `\`${database}\`.\`${table}\``
}

/** Partitions by month, since ClickHouse works best with few partitions. With this order, repeated rows are adjacent. */
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
 * Creates the table if it does not exist. An existing one is used if it has the columns.
 *
 * @returns Why the table cannot be used, with the server's message; undefined = it can.
 */
export async function ensureTable(
  server: ClickHouseServer,
  name: string,
  signal: AbortSignal,
): Promise<{ reason: string; detail?: string } | undefined> {
  try {
    // Reads the table first: inserting into an existing table does not require the right to create tables.
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

/** The types of the columns by name; undefined when the text is not a description of a table. */
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

/** The kind of values that a column of this type accepts. */
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
