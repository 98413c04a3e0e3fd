import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import { FaultError, type FaultRule, type Faults } from '../faults/rules.ts'
import { HttpProblem, replyJson, requireMethod } from '../http/reply.ts'
import { readJson } from './actions.ts'

const ruleSchema = z.strictObject({
  status: z.number().nullish(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().nullish(),
  delay: z.number().optional(),
  hang: z.boolean().optional(),
  reset: z.boolean().optional(),
  forMs: z.number().nullish(),
  times: z.number().nullish(),
  chance: z.number().optional(),
  path: z.string().nullish(),
  source: z.string().nullish(),
})
const bodySchema = z.union([ruleSchema, z.array(ruleSchema).max(1000)])

/** Handles `/api/faults`. Returns false for all other paths. */
export async function handleFaults(
  faults: Faults,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const match = /^\/api\/faults(?:\/([^/]+))?$/.exec(url.pathname)
  if (match === null) return false
  const id = match[1]
  requireMethod(request, ...(id === undefined ? ['GET', 'POST', 'DELETE'] : ['DELETE']))
  if (request.method === 'POST') {
    await replyAdded(faults, request, response)
  } else if (request.method === 'DELETE') {
    if (id === undefined) faults.clear()
    else if (!faults.remove(id)) throw new HttpProblem(404, 'no_fault', 'there is no fault of this id')
    replyJson(response, 200, { success: true })
  } else {
    replyJson(response, 200, faults.state())
  }
  return true
}

async function replyAdded(faults: Faults, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readJson(request)
  if (body === undefined) return
  const parsed = bodySchema.safeParse(body)
  if (!parsed.success) {
    throw new HttpProblem(400, 'bad_fault', 'expected a fault or a list of faults')
  }
  const added: FaultRule[] = []
  try {
    for (const rule of [parsed.data].flat()) added.push(faults.add(withoutNulls(rule)))
    replyJson(response, 201, { rules: added })
  } catch (cause) {
    if (!(cause instanceof FaultError)) throw cause
    // Either all faults of a list are added, or none.
    for (const { id } of added) faults.remove(id)
    throw new HttpProblem(400, 'bad_fault', cause.message)
  }
}

/** Null means the default, as in the responses to `GET`; but in `times`, it means that there is no limit. */
function withoutNulls({ status, body, path, source, forMs, ...rest }: z.output<typeof ruleSchema>) {
  return {
    ...rest,
    status: status ?? undefined,
    body: body ?? undefined,
    path: path ?? undefined,
    source: source ?? undefined,
    forMs: forMs ?? undefined,
  }
}
