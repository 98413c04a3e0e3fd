import { once } from 'node:events'
import pc from 'picocolors'
import { EXIT, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import { readConnection } from '../settings/connection.ts'
import { readTextFile } from '../settings/text-file.ts'
import { toBase } from '../tail/base.ts'
import { CollectorApi } from '../tail/collector-api.ts'
import { follow } from '../tail/follow.ts'
import { formatEvent } from '../tail/format.ts'
import type { CommandContext } from './context.ts'

export interface TailFlags {
  readonly search?: string
  readonly last: number
  readonly count?: number
  readonly adminTokenFile?: string
  readonly color?: boolean
  readonly json?: boolean
}

const DEFAULT_URL = 'http://127.0.0.1:8787'

/** Resolves with the exit code. */
export async function runTail(
  url: string | undefined,
  flags: TailFlags,
  context: CommandContext,
): Promise<number> {
  const { stdout, stderr } = context
  const base = toBase(url ?? readConnection({}, context.env).host ?? DEFAULT_URL)
  const ended = new AbortController()
  const forget = context.onInterrupt(() => ended.abort())
  // The program that reads the output has ended (`| head -1`).
  stdout.on('error', () => ended.abort())
  const api = new CollectorApi(base, readToken(flags, context))
  const useColor = flags.color ?? (stdout.isTTY === true && !context.env['NO_COLOR'])
  const colors = pc.createColors(useColor)
  const events = follow(api, {
    q: flags.search,
    last: flags.last,
    isFull: flags.json === true,
    count: flags.count,
    signal: ended.signal,
    onNote: (text) => void stderr.write(`trackpost: ${base.host}: ${printable(text)}\n`),
  })
  for await (const event of events) {
    const line = flags.json === true ? JSON.stringify(event) : formatEvent(event, colors)
    if (!stdout.write(`${line}\n`)) await once(stdout, 'drain', { signal: ended.signal }).catch(() => {})
  }
  forget()
  return EXIT.delivered
}

export function readToken(
  flags: Pick<TailFlags, 'adminTokenFile'>,
  context: CommandContext,
): string | undefined {
  const token = findToken(flags, context)
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new UsageError('admin token: expected visible ASCII characters without spaces')
  return token
}

function findToken(
  { adminTokenFile }: Pick<TailFlags, 'adminTokenFile'>,
  { env }: CommandContext,
): string | undefined {
  if (adminTokenFile === undefined) return env['TRACKPOST_ADMIN_TOKEN'] || undefined
  return readTextFile(adminTokenFile, 'admin token file').trim()
}
