import { HttpProblem } from '../http/reply.ts'
import { catalogueDetail } from '../store/queries/catalogue.ts'
import type { QueryContext } from '../store/queries/context.ts'
import { eventDetail } from '../store/queries/event-detail.ts'
import { requestDetail } from '../store/queries/requests.ts'
import { userDetail } from '../store/queries/user-detail.ts'
import { readQuery, readRange } from './query.ts'

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
export function oneEntry(context: QueryContext, list: string, id: string, url: URL): unknown {
  const found = findEntry(context, list, id, url.searchParams)
  if (found !== null) return found
  const [code, message] = ABSENT[list] ?? ['not_found', 'there is nothing of this name']
  throw new HttpProblem(404, code, message)
}

function findEntry(context: QueryContext, list: string, id: string, parameters: URLSearchParams): unknown {
  switch (list) {
    case 'events':
      readQuery('none', parameters)
      return eventDetail(context, id)
    case 'requests':
      readQuery('none', parameters)
      return requestDetail(context, id)
    case 'catalogue':
      return catalogueDetail(context, {
        key: id,
        ...readRange(readQuery('range', parameters), context.nowMs),
      })
    default:
      return userDetail(context, { id, ...readQuery('user', parameters) })
  }
}
