import { HttpProblem } from '../http/reply.ts'
import type { EventReader } from '../store/event-reader.ts'
import { readQuery, readRange } from './query.ts'

export interface EntryParts {
  reader: EventReader
  now(): number
}

const ABSENT: Readonly<Record<string, [code: string, message: string]>> = {
  events: ['no_event', 'there is no event of this id'],
  requests: ['no_request', 'there is no request of this id'],
  users: ['no_user', 'no user of this id has sent an event'],
  catalogue: ['no_such_entry', 'no event has this key'],
}

/**
 * @param list Name of the list to which the entry belongs.
 * @throws HttpProblem 404 when no entry has this id.
 */
export async function oneEntry(parts: EntryParts, list: string, id: string, url: URL): Promise<unknown> {
  const found = await findEntry(parts, list, id, url.searchParams)
  if (found !== null) return found
  const [code, message] = ABSENT[list] ?? ['not_found', 'there is nothing of this name']
  throw new HttpProblem(404, code, message)
}

async function findEntry(
  { reader, now }: EntryParts,
  list: string,
  id: string,
  parameters: URLSearchParams,
): Promise<unknown> {
  switch (list) {
    case 'events':
      readQuery('none', parameters)
      return reader.ask('event', { id })
    case 'requests':
      readQuery('none', parameters)
      return reader.ask('request', { id })
    case 'catalogue': {
      const { view, ...range } = readQuery('catalogueEntry', parameters)
      return reader.ask('catalogueEntry', { key: id, ...readRange(range, now()), isFull: view === 'full' })
    }
    default: {
      const { by, order, limit, cursor } = readQuery('user', parameters)
      return reader.ask('user', { id, by, order, limit, cursor })
    }
  }
}
