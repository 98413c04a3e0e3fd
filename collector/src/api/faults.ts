import * as z from 'zod'
import { FaultError, type FaultRule } from '../faults/rules.ts'
import { HttpProblem, replyJson } from '../http/reply.ts'
import { type Asking, DONE, found, type Routes } from './asking.ts'
import { readJson } from './body.ts'

/** `faults.add` checks what is in a rule. */
const ruleSchema = z.looseObject({})
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
    for (const rule of [rules].flat()) added.push(faults.add(rule))
  } catch (cause) {
    if (!(cause instanceof FaultError)) throw cause
    // Either all faults of a list are added, or none.
    for (const { id } of added) faults.remove(id)
    throw new HttpProblem(400, 'bad_fault', cause.message)
  }
  replyJson(response, 201, { rules: added })
  return DONE
}
