import type { PerRequest } from './requests.ts'

/** Timers and sockets belong to the process. Edge runtimes get `requests.web.ts` in its place. */
export const perRequest: PerRequest = ({ create }) => create()
