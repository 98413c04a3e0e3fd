import type { PerRequest } from './requests.ts'

/** One set of parts: timers and sockets belong to the process. Edge runtimes get `requests.web.ts` instead. */
export const perRequest: PerRequest = ({ create }) => create()
