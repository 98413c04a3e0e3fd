import { ConfigError } from 'trackpost-collector'
import type { StreamEvent } from '../stream/message.ts'
import { type Outcome, writeHalving } from './destination.ts'
import { type Row, rowsOf } from './row.ts'

/**
 * The name of the table in the parameter `table` of a URL, and the URL without it.
 *
 * @throws ConfigError when the name would have to be quoted.
 */
export function readTable(url: URL): { table: string; url: URL } {
  const rest = new URL(url)
  const table = rest.searchParams.get('table') ?? 'events'
  rest.searchParams.delete('table')
  if (!/^[a-z_]\w*(\.[a-z_]\w*)?$/i.test(table))
    throw new ConfigError('to: table is a name of letters, digits and _, with or without its schema')
  return { table, url: rest }
}

/** Writes events as rows: in one statement if all are taken, otherwise without those that the database refuses. */
export async function writeRows(
  events: readonly StreamEvent[],
  insert: (rows: readonly Row[]) => Promise<void>,
): Promise<Outcome[]> {
  const { rows, places, unreadable } = rowsOf(events)
  const written = await writeHalving(rows, insert)
  const outcomes = new Array<Outcome>(events.length)
  for (const [index, outcome] of written.entries()) outcomes[places[index] as number] = outcome
  for (const [place, reason] of unreadable) outcomes[place] = { result: 'refused', reason }
  return outcomes
}
