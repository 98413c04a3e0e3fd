import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import type { ChangesOverview, ChangesReply, Deploy } from '../changes/answer.ts'
import type { EventChanges, Question } from '../changes/changes.ts'
import { markDeploy, removeDeploy } from '../changes/deploys.ts'
import { HttpProblem, replyJson, requireMethod } from '../http/reply.ts'
import { parseTime } from '../search/time.ts'
import type { Store } from '../store/store.ts'
import { parsed, readJson } from './actions.ts'
import { readQuery, readRange } from './query.ts'

export interface ChangesParts {
  changes: EventChanges
  store: Pick<Store, 'database' | 'changes'>
  now(): number
}

const deploySchema = z.strictObject({
  name: z.string().max(200).default(''),
  at: z.union([z.string(), z.number()]).optional(),
})

const DEPLOY = /^\/api\/deploys(?:\/([^/]+))?$/

/** Handles `/api/changes` and `/api/deploys`. Returns false for all other paths. */
export async function handleChanges(
  parts: ChangesParts,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (url.pathname === '/api/changes') {
    requireMethod(request, 'GET')
    replyJson(response, 200, await changesOf(parts, url.searchParams))
    return true
  }
  const match = DEPLOY.exec(url.pathname)
  if (match === null) return false
  const id = match[1]
  requireMethod(request, ...(id === undefined ? ['GET', 'POST'] : ['DELETE']))
  if (id !== undefined) {
    if (!removeDeploy(parts.store.database, id))
      throw new HttpProblem(404, 'no_deploy', 'there is no deploy of this id')
    parts.store.changes.changed()
    replyJson(response, 200, { success: true })
  } else if (request.method === 'POST') await replyMarked(parts, request, response)
  else replyJson(response, 200, await parts.changes.overview())
  return true
}

async function replyMarked(
  { store, now }: ChangesParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readJson(request)
  if (body === undefined) return
  const { name, at } = parsed(deploySchema, body)
  const atMs = at === undefined ? now() : parseTime(String(at), now())
  if (atMs === undefined) {
    throw new HttpProblem(400, 'bad_request', 'at: expected ISO-8601, milliseconds or -15m')
  }
  const deploy = markDeploy(store.database, atMs, name)
  // Open pages ask again.
  store.changes.changed()
  replyJson(response, 201, deploy)
}

async function changesOf({ changes, now }: ChangesParts, parameters: URLSearchParams): Promise<ChangesReply> {
  const { since, before, after, ...range } = readQuery('changes', parameters)
  if ((before === undefined) !== (after === undefined) || (since !== undefined && before !== undefined)) {
    throw new HttpProblem(400, 'bad_query', 'expected since, or before and after')
  }
  const overview = await changes.overview()
  const given =
    before !== undefined && after !== undefined
      ? ({ by: 'version', before, after } as const)
      : since !== undefined
        ? ({ by: 'time', sinceMs: readRange({ from: since }, now()).fromMs ?? 0 } as const)
        : usualQuestion(overview)
  const question =
    given?.by === 'time' ? { ...between(given.sinceMs, overview.deploys), ...limits(range, now()) } : given
  return { ...overview, comparison: question === undefined ? null : await changes.compare(question) }
}

function limits(range: { from?: string; to?: string }, nowMs: number): { fromMs?: number; toMs?: number } {
  const { fromMs, toMs } = readRange(range, nowMs)
  return { ...(fromMs !== undefined && { fromMs }), ...(toMs !== undefined && { toMs }) }
}

/** Without a question: the newest deploy; without deploys, the two newest versions. */
function usualQuestion({ deploys, versions }: ChangesOverview): Question | undefined {
  const [deploy] = deploys
  if (deploy !== undefined) return { by: 'time', sinceMs: Date.parse(deploy.at) }
  const [after, before] = versions
  return before === undefined || after === undefined
    ? undefined
    : { by: 'version', before: before.version, after: after.version }
}

/** The time before reaches back to the deploy before, and the time after ends with the next one. */
function between(sinceMs: number, deploys: readonly Deploy[]): Extract<Question, { by: 'time' }> {
  const times = deploys.map(({ at }) => Date.parse(at))
  const earlier = times.filter((time) => time < sinceMs)
  const later = times.filter((time) => time > sinceMs)
  return {
    by: 'time',
    sinceMs,
    fromMs: earlier.length === 0 ? undefined : Math.max(...earlier),
    toMs: later.length === 0 ? undefined : Math.min(...later),
  }
}
