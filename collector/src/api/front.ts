import type { ServerResponse } from 'node:http'
import { HttpProblem, replyJson } from '../http/reply.ts'
import type { SharedLog } from '../log/ports.ts'
import { logState } from '../log/state.ts'
import type { About } from './api.ts'

const WHERE =
  'This process is a front: it accepts events and writes them to the log, and stores none of them. ' +
  'Ask a process that has the store: a worker, or a front that was started with --store.'

/** Answers requests to a front without a store. */
export async function handleFront(
  log: SharedLog,
  about: About,
  url: URL,
  response: ServerResponse,
): Promise<boolean> {
  if (url.pathname === '/api/about') replyJson(response, 200, { ...about, message: WHERE })
  else if (url.pathname === '/api/stats') replyJson(response, 200, { log: await logState(log) })
  else if (url.pathname.startsWith('/api/')) throw new HttpProblem(404, 'no_store', WHERE)
  else return false
  return true
}
