import type { InNumbers } from '../cursor.ts'
import type { QueryName, QueryParameters, QueryResult } from '../queries.ts'
import type { Query } from '../sql.ts'
import { catalogue, catalogueDetail, schemas } from './catalogue.ts'
import type { QueryContext } from './context.ts'
import { destinations } from './destinations.ts'
import { eventDetail } from './event.ts'
import { listEvents } from './events.ts'
import { count } from './find.ts'
import { overview } from './overview.ts'
import { problems } from './problems.ts'
import { listRequests, requestDetail } from './requests.ts'
import { userDetail } from './user.ts'
import { listUsers } from './users.ts'

type Question<N extends QueryName> = (
  context: QueryContext,
  parameters: InNumbers<QueryParameters<N>>,
) => Query<QueryResult<N>>

const QUESTIONS: { readonly [N in QueryName]: Question<N> } = {
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

/** The steps of one query. */
export function stepsOf<N extends QueryName>(
  context: QueryContext,
  name: N,
  parameters: InNumbers<QueryParameters<N>>,
): Query<QueryResult<N>> {
  return (QUESTIONS[name] as Question<N>)(context, parameters)
}
