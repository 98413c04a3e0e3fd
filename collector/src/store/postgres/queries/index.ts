import type { InNumbers } from '../../place.ts'
import type { QueryName, QueryParameters, QueryResult } from '../../queries.ts'
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

type Query<N extends QueryName> = (
  context: QueryContext,
  parameters: InNumbers<QueryParameters<N>>,
) => Promise<QueryResult<N>>

const QUERIES: { readonly [N in QueryName]: Query<N> } = {
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
}

/** The result of one question. */
export function resultOf<N extends QueryName>(
  context: QueryContext,
  name: N,
  parameters: InNumbers<QueryParameters<N>>,
): Promise<QueryResult<N>> {
  return (QUERIES[name] as Query<N>)(context, parameters)
}
