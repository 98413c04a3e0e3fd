import type { InNumbers } from '../cursor.ts'
import type { QueryName, QueryParameters, QueryResult } from '../event-reader.ts'
import type { Query } from '../sql.ts'
import { catalogue, catalogueDetail, schemas } from './catalogue.ts'
import type { QueryContext } from './context.ts'
import { destinations } from './destinations.ts'
import { eventDetail } from './event-detail.ts'
import { listEvents } from './event-list.ts'
import { count } from './find.ts'
import { overview } from './overview.ts'
import { problems } from './problems.ts'
import { listRequests, requestDetail } from './requests.ts'
import { userDetail } from './user-detail.ts'
import { listUsers } from './user-list.ts'

type QueryFunction<N extends QueryName> = (
  context: QueryContext,
  parameters: InNumbers<QueryParameters<N>>,
) => Query<QueryResult<N>>

const QUERIES: { readonly [N in QueryName]: QueryFunction<N> } = {
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

export function stepsOf<N extends QueryName>(
  context: QueryContext,
  name: N,
  parameters: InNumbers<QueryParameters<N>>,
): Query<QueryResult<N>> {
  return (QUERIES[name] as QueryFunction<N>)(context, parameters)
}
