import type { Verification } from 'trackpost'
import { createClient } from '../client.ts'
import { EXIT } from '../errors.ts'
import { printable } from '../output/text.ts'
import { type ConnectionFlags, readConnection, requireKey } from '../settings/connection.ts'
import type { CommandContext } from './context.ts'

export interface VerifyFlags extends ConnectionFlags {
  readonly json?: boolean
}

const PROXY_NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** Sends no event. */
export async function runVerify(flags: VerifyFlags, context: CommandContext): Promise<number> {
  const { stdout, stderr, env } = context
  const connection = readConnection(flags, env)
  const client = createClient(
    { ...connection, writeKey: requireKey(connection) },
    { warn: (text) => void stderr.write(`trackpost: ${text}\n`) },
  )
  const found = await client.verify()
  await client.closeAndFlush()
  const { reachable, authorized = null, status = null, url } = found
  const proxy = reachable ? undefined : PROXY_NAMES.find((name) => env[name])
  const notes = found.hint === undefined ? [] : [found.hint]
  if (proxy !== undefined)
    notes.push(
      `${proxy} is set, but the client does not use it: https://github.com/trackpost/trackpost/blob/main/docs/recipes.md#send-events-through-a-proxy`,
    )
  if (authorized === true && connection.host === undefined && connection.region !== 'eu')
    notes.push('for a workspace in the EU, set --region eu: elsewhere, its events get a 200 and never appear')
  if (flags.json === true) {
    const hint = notes.length === 0 ? null : notes.join('; ')
    stdout.write(`${JSON.stringify({ reachable, authorized, status, url, hint })}\n`)
  } else {
    stdout.write(`${[`${url}: ${describe(found)}`, ...notes].map(printable).join('\n')}\n`)
  }
  return authorized === true ? EXIT.delivered : EXIT.failed
}

function describe({ reachable, authorized, status }: Verification): string {
  if (!reachable) return 'cannot be reached'
  if (authorized === undefined) return `does not say whether it accepts the write key (${status})`
  return `${authorized ? 'accepts' : 'refuses'} the write key (${status})`
}
