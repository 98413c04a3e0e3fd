import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import type { Config } from '../config/schema.ts'
import { HttpProblem } from '../http/reply.ts'
import type { QueryContext } from '../store/queries/context.ts'
import { rowOfRequest } from '../store/queries/requests.ts'
import { sql } from '../store/sql.ts'
import { type Asking, found } from './asking.ts'
import { readJson } from './body.ts'

/** Tells a request that was sent again from its original, in the list of requests. */
const AGAIN = 'x-trackpost-sent-again'
/** The record of a request is written when its response has ended. */
const RECORDED_WITHIN_MS = 1000

/**
 * Sends a recorded request to this collector again, with the write key of its source.
 *
 * @throws HttpProblem 404 for an unknown request; 409 when its body or its write key is not known.
 */
export async function resend({ context, config, url, id, request }: Asking): Promise<unknown> {
  await readJson(request, z.strictObject({}))
  const row = found(rowOfRequest(context, id), 'no_request', 'there is no request of this id')
  if (row.method !== 'POST' || row.body === null || row.bodyIsCut === 1)
    throw new HttpProblem(409, 'body_not_kept', 'the whole body of this request is not known')
  const mark = `${id}-${randomUUID()}`
  const key = row.source === null ? undefined : writeKeyOf(row.source, config)
  const sent = await fetch(`${url()}${row.path}`, {
    method: 'POST',
    headers: {
      [AGAIN]: mark,
      ...(row.contentType === null ? {} : { 'content-type': row.contentType }),
      ...(key !== undefined && { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }),
    },
    body: row.body,
    redirect: 'manual',
  })
  await sent.arrayBuffer()
  return { status: sent.status, request: await recordOf(context, mark) }
}

/** Without sources in the config, the key is the name of the source. */
function writeKeyOf(source: string, { sources }: Config): string {
  if (sources === undefined) return source
  const [key] = [sources.find(({ name }) => name === source)?.writeKey ?? []].flat()
  if (key !== undefined) return key
  throw new HttpProblem(409, 'key_not_known', 'the config has only the hash of the write key of this source')
}

async function recordOf({ database }: QueryContext, mark: string): Promise<string | null> {
  for (let waitedMs = 0; waitedMs < RECORDED_WITHIN_MS; waitedMs += 50) {
    const found = database.number(
      sql`SELECT id AS value FROM request WHERE instr(headers, ${mark}) > 0 ORDER BY id DESC LIMIT 1`,
    )
    if (found > 0) return String(found)
    await sleep(50)
  }
  return null
}
