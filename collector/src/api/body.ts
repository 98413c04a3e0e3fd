import type { IncomingMessage } from 'node:http'
import type * as z from 'zod'
import { readBody } from '../http/read-body.ts'
import { HttpProblem } from '../http/reply.ts'

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
  const read = await readBody(request, MAX_BODY_BYTES)
  if (read === 'aborted') throw new HttpProblem(400, 'aborted', 'the client has hung up')
  if ('refused' in read) throw new HttpProblem(400, read.refused, 'the body cannot be read or is too large')
  if (read.body.length === 0) return {}
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  // A page of another site can send this type only after a preflight request, which the collector does not allow.
  if (type !== 'application/json') throw new HttpProblem(400, 'bad_content_type', 'expected application/json')
  try {
    return JSON.parse(read.body.toString('utf8'))
  } catch {
    throw new HttpProblem(400, 'invalid_json', 'the body is not JSON')
  }
}
