import { createClient } from '../client.ts'
import { EXIT } from '../errors.ts'
import { printable } from '../output/text.ts'
import { type ConnectionFlags, readConnection, requireKey } from '../settings/connection.ts'
import type { CommandContext } from './context.ts'

export interface VerifyFlags extends ConnectionFlags {
  readonly json?: boolean
}

/** Sends no event. Resolves with the exit code. */
export async function runVerify(flags: VerifyFlags, context: CommandContext): Promise<number> {
  const connection = readConnection(flags, context.env)
  const client = createClient(
    { ...connection, writeKey: requireKey(connection) },
    { warn: (text) => void context.stderr.write(`trackpost: ${text}\n`) },
  )
  const found = await client.verify()
  await client.closeAndFlush()
  const { reachable, authorized, status, url, hint } = found
  const isFine = reachable && authorized === true
  if (flags.json === true) {
    const result = {
      reachable,
      authorized: authorized ?? null,
      status: status ?? null,
      url,
      hint: hint ?? null,
    }
    context.stdout.write(`${JSON.stringify(result)}\n`)
  } else {
    const key =
      authorized === true
        ? 'accepts the write key'
        : authorized === false
          ? 'refuses the write key'
          : 'does not say whether it accepts the write key'
    context.stdout.write(
      `${printable(url)}: ${reachable ? key : 'cannot be reached'}${status === undefined ? '' : ` (${status})`}\n`,
    )
    if (hint !== undefined) context.stdout.write(`${printable(hint)}\n`)
  }
  return isFine ? EXIT.delivered : EXIT.failed
}
