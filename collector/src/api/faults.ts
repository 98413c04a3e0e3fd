import * as z from 'zod'
import { FaultError, type FaultRule } from '../faults/rules.ts'
import { HttpProblem, replyJson } from '../http/reply.ts'
import { type Asking, DONE, found, type Routes } from './asking.ts'
import { readJson } from './body.ts'

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

export const FAULT_ROUTES: Routes = {
  'GET /api/faults': ({ faults }) => faults.state(),
  'POST /api/faults': addFaults,
  'DELETE /api/faults': ({ faults }) => {
    faults.clear()
    return { success: true }
  },
  'DELETE /api/faults/:id': ({ faults, id }) => {
    found(faults.remove(id) || null, 'no_fault', 'there is no fault of this id')
    return { success: true }
  },
}

async function addFaults({ faults, request, response }: Asking): Promise<typeof DONE> {
  const rules = await readJson(request, bodySchema, 'bad_fault')
  const added: FaultRule[] = []
  try {
    for (const rule of [rules].flat()) added.push(faults.add(withoutNulls(rule)))
  } catch (cause) {
    if (!(cause instanceof FaultError)) throw cause
    // Either all faults of a list are added, or none.
    for (const { id } of added) faults.remove(id)
    throw new HttpProblem(400, 'bad_fault', cause.message)
  }
  replyJson(response, 201, { rules: added })
  return DONE
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
