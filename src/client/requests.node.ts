import type { PerRequest } from './requests.ts'

/**
 * Makes one set of parts, because timers and sockets belong to the whole process. On edge runtimes, `requests.web.ts` takes the
 * place of this file.
 */
export const perRequest: PerRequest = ({ create }) => create()
