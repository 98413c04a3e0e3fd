import type { destinations } from './queries/destinations.ts'
import type { eventDetail } from './queries/event-detail.ts'
import type { listEvents } from './queries/events.ts'
import type { overview } from './queries/overview.ts'
import type { problems } from './queries/problems.ts'
import type { listRequests, requestDetail } from './queries/requests.ts'
import type { userDetail } from './queries/user-detail.ts'
import type { listUsers } from './queries/users.ts'

export type EventsPage = ReturnType<typeof listEvents>
export type EventDetail = NonNullable<ReturnType<typeof eventDetail>>
export type ShownDelivery = EventDetail['destinations'][number]
export type ShownAttempt = ShownDelivery['history'][number]
export type RequestsPage = ReturnType<typeof listRequests>
export type RequestSummary = RequestsPage['requests'][number]
export type RequestDetail = NonNullable<ReturnType<typeof requestDetail>>
export type UsersPage = ReturnType<typeof listUsers>
export type UserEntry = UsersPage['users'][number]
export type UserDetail = NonNullable<ReturnType<typeof userDetail>>
export type DestinationState = ReturnType<typeof destinations>[number]
export type Overview = ReturnType<typeof overview>
export type Step = Overview['steps'][number]
export type Loss = Overview['losses'][number]
export type Problems = ReturnType<typeof problems>
export type Problem = Problems['problems'][number]
