import type { OpenLanes } from './lanes.ts'

/** One delivery does for all: timers and sockets belong to the process. Edge runtimes get `lanes.web.ts` in its place. */
export const openLanes: OpenLanes = () => undefined
