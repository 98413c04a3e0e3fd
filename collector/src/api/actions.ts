import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import type { ReleaseResult } from '../destinations/release.ts'
import { readBody } from '../http/read-body.ts'
import { HttpProblem, replyJson, requireMethod } from '../http/reply.ts'
import { decoded } from '../percent-decoding.ts'

const MAX_BODY_BYTES = 65_536
const MAX_RELEASED = 100
/** Events that one request may delete. */
const MAX_CHOSEN = 1000

const id = z.string().min(1).max(100)
const retrySchema = z.strictObject({ ids: z.array(id).max(1000).optional() })
const chosenSchema = z.strictObject({ ids: z.array(id).min(1).max(MAX_CHOSEN) })
const replaySchema = z.strictObject({ destinations: z.array(z.string()).max(100).optional() })
const releaseSchema = z.strictObject({ ids: z.array(id).min(1).max(MAX_RELEASED) })

export interface Actions {
  clear(): void
  /** Returns the number of events that were deleted. */
  delete(ids: string[]): number
  destinations(): unknown[]
  /** Returns the number of deliveries that will be tried again; undefined if there is no such destination. */
  retry(destination: string, ids: string[] | undefined): number | undefined
  /**
   * Returns the destinations that get the event again; undefined if there is no such event, null if it was not accepted.
   */
  replay(id: string, destinations: string[] | undefined): string[] | undefined | null
  releaseTarget(): string | null
  release(id: string): Promise<ReleaseResult>
}

/** Returns false for a request that does not delete, retry, replay or release anything. */
export async function handleAction(
  actions: Actions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (path === '/api/events' && request.method === 'DELETE') {
    actions.clear()
    replyJson(response, 200, { success: true })
    return true
  }
  const retry = /^\/api\/destinations\/([^/]+)\/retry$/.exec(path)
  const replay = /^\/api\/events\/([^/]+)\/replay$/.exec(path)
  if (path === '/api/events/delete' && request.method === 'POST') {
    const body = await readJson(request)
    if (body !== undefined)
      replyJson(response, 200, { deleted: actions.delete(parsed(chosenSchema, body).ids) })
    return true
  }
  const isRelease = path === '/api/release' && request.method !== 'GET' && request.method !== 'HEAD'
  if (retry === null && replay === null && !isRelease) return false
  requireMethod(request, 'POST')
  const body = await readJson(request)
  if (body === undefined) return true
  if (retry !== null) replyRetry(actions, decoded(retry[1] as string), body, response)
  else if (replay !== null) replyReplay(actions, decoded(replay[1] as string), body, response)
  else await replyRelease(actions, body, response)
  return true
}

function replyRetry(actions: Actions, name: string, body: unknown, response: ServerResponse): void {
  const retried = actions.retry(name, parsed(retrySchema, body).ids)
  if (retried === undefined)
    throw new HttpProblem(404, 'no_destination', 'there is no destination of this name')
  replyJson(response, 200, { retried })
}

function replyReplay(actions: Actions, id: string, body: unknown, response: ServerResponse): void {
  const destinations = actions.replay(id, parsed(replaySchema, body).destinations)
  if (destinations === undefined) throw new HttpProblem(404, 'no_event', 'there is no event of this id')
  if (destinations === null) throw new HttpProblem(409, 'not_accepted', 'only accepted events are delivered')
  replyJson(response, 200, { destinations })
}

async function replyRelease(actions: Actions, body: unknown, response: ServerResponse): Promise<void> {
  const { ids } = parsed(releaseSchema, body)
  if (actions.releaseTarget() === null) {
    throw new HttpProblem(409, 'no_release_target', 'the collector was started without --release-to')
  }
  let released = 0
  const failed: Array<{ id: string; reason: string }> = []
  // One after another, so that the events are released in their order.
  for (const id of ids) {
    const result = await actions.release(id)
    if (result.released) released++
    else failed.push({ id, reason: result.reason })
  }
  replyJson(response, 200, { released, failed })
}

/** @throws HttpProblem 400 when the body does not match the schema. */
export function parsed<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new HttpProblem(
    400,
    'bad_request',
    `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'is wrong'}`,
  )
}

/** An empty body counts as `{}`. Resolves with undefined if the client has closed the connection. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const read = await readBody(request, MAX_BODY_BYTES)
  if (read === 'aborted') return undefined
  if ('refused' in read) throw new HttpProblem(400, read.refused, 'the body cannot be read or is too large')
  if (read.body.length === 0) return {}
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  // A page of another site can send this type only after a preflight request, which the collector does not allow.
  if (type !== 'application/json') throw new HttpProblem(400, 'bad_content_type', 'expected application/json')
  try {
    return JSON.parse(read.body.toString('utf8')) ?? null
  } catch {
    throw new HttpProblem(400, 'invalid_json', 'the body is not JSON')
  }
}
