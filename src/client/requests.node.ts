import type { PerRequest } from './requests.ts'

/**
 * All incoming requests share the parts of a client (`Parts`), because timers and sockets belong to the whole process. On edge
 * runtimes, `requests.web.ts` takes the place of this file.
 */
export const perRequest: PerRequest = ({ create }) => create()
