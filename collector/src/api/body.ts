import type { IncomingMessage } from 'node:http'
import type * as z from 'zod'
import { readBody } from '../http/read-body.ts'
import { HttpProblem, isJsonType } from '../http/reply.ts'

const MAX_BODY_BYTES = 65_536

/**
 * Reads a body as JSON. An empty body counts as `{}`.
 *
 * @throws HttpProblem 400 when it cannot be read, or does not match the schema.
 */
export async function readJson<T>(
  request: IncomingMessage,
  schema: z.ZodType<T>,
  code = 'bad_request',
): Promise<T> {
  const result = schema.safeParse(await readValue(request))
  if (result.success) return result.data
  const [issue] = result.error.issues
  const where = issue?.path.join('.') || 'the body'
  throw new HttpProblem(400, code, `${where}: ${issue?.message ?? 'is wrong'}`)
}

async function readValue(request: IncomingMessage): Promise<unknown> {
  const { body } = await readBody(request, MAX_BODY_BYTES)
  if (body.length === 0) return {}
  // A page of another site can send this type only after a preflight request, which the collector does not allow.
  if (!isJsonType(request.headers['content-type']))
    throw new HttpProblem(400, 'bad_content_type', 'expected application/json')
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new HttpProblem(400, 'invalid_json', 'the body is not JSON')
  }
}
