import * as z from 'zod'
import type { ChangesReply } from '../changes/answer.ts'
import type { ChangesOverview, Question } from '../changes/changes.ts'
import { type Deploy, markDeploy, removeDeploy } from '../changes/deploys.ts'
import { HttpProblem, replyJson } from '../http/reply.ts'
import { parseTime } from '../search/time.ts'
import { type Asking, DONE, found, type Routes } from './asking.ts'
import { readJson } from './body.ts'
import { readQuery, readRange } from './query.ts'

const deploySchema = z.strictObject({
  name: z.string().max(200).default(''),
  at: z.union([z.string(), z.number()]).optional(),
})

export const CHANGES_ROUTES: Routes = {
  'GET /api/changes': changesOf,
  'GET /api/deploys': ({ comparison }) => comparison.overview(),
  'POST /api/deploys': async ({ store, context: { nowMs }, request, response }) => {
    const { name, at } = await readJson(request, deploySchema)
    const atMs = at === undefined ? nowMs : parseTime(String(at), nowMs)
    if (atMs === undefined)
      throw new HttpProblem(400, 'bad_request', 'at: expected ISO-8601, milliseconds or -15m')
    const deploy = markDeploy(store.database, atMs, name)
    // Open pages ask again.
    store.changes.changed()
    replyJson(response, 201, deploy)
    return DONE
  },
  'DELETE /api/deploys/:id': ({ store, id }) => {
    found(removeDeploy(store.database, id) || null, 'no_deploy', 'there is no deploy of this id')
    store.changes.changed()
    return { success: true }
  },
}

async function changesOf({ comparison, context: { nowMs }, parameters }: Asking): Promise<ChangesReply> {
  const { since, before, after } = readQuery('changes', parameters)
  if ((before === undefined) !== (after === undefined) || (since !== undefined && before !== undefined)) {
    throw new HttpProblem(400, 'bad_query', 'expected since, or before and after')
  }
  const overview = await comparison.overview()
  const given =
    before !== undefined && after !== undefined
      ? ({ by: 'version', before, after } as const)
      : since !== undefined
        ? ({ by: 'time', sinceMs: readRange({ from: since }, nowMs).fromMs ?? 0 } as const)
        : usualQuestion(overview)
  const question = given?.by === 'time' ? between(given.sinceMs, overview.deploys) : given
  return { ...overview, comparison: question === undefined ? null : await comparison.compare(question) }
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
