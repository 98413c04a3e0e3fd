import type { PerRequest } from './requests.ts'

/** Makes one set of parts, since timers and sockets belong to the process. Edge runtimes get `requests.web.ts` instead. */
export const perRequest: PerRequest = ({ create }) => create()
