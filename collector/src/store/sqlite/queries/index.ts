import type { Work } from '../work.ts'
import { catalogue, catalogueDetail, schemas } from './catalogue.ts'
import type { QueryContext } from './context.ts'
import { destinations } from './destinations.ts'
import { eventDetail } from './event.ts'
import { count, listEvents } from './events.ts'
import { overview } from './overview.ts'
import { problems } from './problems.ts'
import { listRequests, requestDetail } from './requests.ts'
import { userDetail } from './user.ts'
import { listUsers } from './users.ts'

/** Every question that can be asked, by its name. */
export const QUERIES = {
  events: listEvents,
  count,
  event: eventDetail,
  requests: listRequests,
  request: requestDetail,
  overview,
  catalogue,
  catalogueEntry: catalogueDetail,
  schemas,
  users: listUsers,
  user: userDetail,
  problems,
  destinations,
} as const

export type QueryName = keyof typeof QUERIES
export type QueryParameters<N extends QueryName> = Parameters<(typeof QUERIES)[N]>[1]
export type QueryResult<N extends QueryName> =
  ReturnType<(typeof QUERIES)[N]> extends Work<infer T> ? T : never

/** The work of one question. */
export function startQuery<N extends QueryName>(
  context: QueryContext,
  name: N,
  parameters: QueryParameters<N>,
): Work<QueryResult<N>> {
  const query = QUERIES[name] as (
    context: QueryContext,
    parameters: QueryParameters<N>,
  ) => Work<QueryResult<N>>
  return query(context, parameters)
}
