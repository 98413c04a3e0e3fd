import { connectionReason } from 'trackpost-collector/ports'
import { refusalReason, type ServerResponse, UNKNOWN_TABLE, unlikeClickHouse } from './refusal.ts'
import { COLUMNS } from './row.ts'
import type { ClickHouseServer } from './server.ts'

/** The configuration allows only names without characters that need escaping. */
export function tableName({ database, table }: { database: string; table: string }): string {
  return `\`${database}\`.\`${table}\``
}

/**
 * Partitions are months, because ClickHouse works best with few partitions. With this sort order, repeated rows are adjacent.
 */
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
 * An existing table is used if it has the required columns.
 *
 * @returns Why the table cannot be used, with the server's message; undefined if it can be used.
 */
export async function ensureTable(
  server: ClickHouseServer,
  name: string,
  signal: AbortSignal,
): Promise<{ reason: string; detail?: string } | undefined> {
  try {
    // Reads the existing table first: a user without the right to create tables can still insert into it.
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

/** Returns undefined if the text does not describe a table. */
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

/** Returns the type without wrappers, size and precision. Two types with the same result accept the same values. */
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
