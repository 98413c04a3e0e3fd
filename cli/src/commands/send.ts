import type { DeliveryError, Kind } from 'trackpost'
import { call, createClient } from '../client.ts'
import { CommandError, EXIT, UsageError } from '../errors.ts'
import { isObject } from '../import/json.ts'
import { parseAssignment } from '../import/mapping.ts'
import { put } from '../import/put.ts'
import { readTime } from '../import/time.ts'
import { printable, quoted } from '../output/text.ts'
import { type ConnectionFlags, readConnection, requireKey } from '../settings/connection.ts'
import { parseExact } from '../settings/exact-json.ts'
import { readTextFile } from '../settings/text-file.ts'
import type { CommandContext } from './context.ts'

export interface SendFlags extends ConnectionFlags {
  readonly userId?: string
  readonly anonymousId?: string
  readonly previousId?: string
  readonly groupId?: string
  readonly event?: string
  readonly name?: string
  readonly category?: string
  readonly timestamp?: string
  readonly messageId?: string
  readonly property?: readonly string[]
  readonly properties?: string
  readonly trait?: readonly string[]
  readonly traits?: string
  readonly context?: readonly string[]
  readonly integration?: readonly string[]
  readonly maxRetries: number
  readonly json?: boolean
}

export async function runSend(kind: Kind, flags: SendFlags, context: CommandContext): Promise<number> {
  const connection = readConnection(flags, context.env)
  const warn = (text: string): void => void context.stderr.write(`trackpost: ${text}\n`)
  const params = readParams(flags, (option, name) =>
    warn(`${option}: ${printable(name)}: sent as text, because a number beyond 2^53 would be rounded`),
  )
  const settings = {
    ...connection,
    writeKey: requireKey(connection),
    maxRetries: flags.maxRetries,
    flushAt: 1,
  }
  const client = createClient(settings, { warn, keepsTimes: flags.timestamp !== undefined })
  let isInterrupted = false
  const forget = context.onInterrupt(() => {
    isInterrupted = true
    void client.closeAndFlush({ timeout: 2_000 })
  })
  const outcome = await new Promise<{ error?: DeliveryError | undefined; messageId?: string }>((resolve) => {
    call(client, kind, params, (error, ctx) => {
      resolve({ error, ...(ctx !== undefined && { messageId: ctx.event.messageId }) })
    })
  })
  await client.closeAndFlush()
  forget()
  const { error, messageId } = outcome
  if (flags.json === true) {
    const { code, status } = error ?? {}
    const problem = error === undefined ? null : { code, message: messageOf(error), status: status ?? null }
    const result = { type: kind, delivered: error === undefined, messageId: messageId ?? null, problem }
    context.stdout.write(`${JSON.stringify(result)}\n`)
  }
  if (error === undefined) {
    if (flags.json !== true) context.stdout.write(`${kind} delivered, messageId ${messageId}\n`)
    return EXIT.delivered
  }
  const exitCode = isInterrupted ? EXIT.interrupted : error.code === 'invalid' ? EXIT.usage : EXIT.failed
  if (flags.json === true) return exitCode
  throw new CommandError(printable(messageOf(error)), exitCode)
}

/** The SDK names the field at fault: `track: event: expected ...`. Here it is named as the flag that sets it. */
function messageOf({ code, message }: DeliveryError): string {
  if (code !== 'invalid') return message
  return message.replace(
    /(?<=^\w+: )\w+(?=: )|\b(?:userId|anonymousId)\b/g,
    (field) => `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  )
}

type OnLoss = (option: string, name: string) => void

function readParams(flags: SendFlags, onLoss: OnLoss): Record<string, unknown> {
  const { userId, anonymousId, previousId, groupId, event, name, category, messageId } = flags
  const time = flags.timestamp === undefined ? undefined : readTime(flags.timestamp, { anyTime: true })
  if (time !== undefined && 'wrong' in time)
    throw new UsageError(
      `--timestamp: expected ISO 8601, for example 2024-02-01T09:30:00Z, got ${quoted(flags.timestamp)}`,
    )
  return {
    ...{ userId, anonymousId, previousId, groupId, event, name, category, messageId },
    timestamp: time?.ms,
    properties: readObject('--property', flags.property, onLoss, '--properties', flags.properties),
    traits: readObject('--trait', flags.trait, onLoss, '--traits', flags.traits),
    context: readObject('--context', flags.context, onLoss),
    integrations: readObject('--integration', flags.integration, onLoss),
  }
}

/** Merges `--properties '{"plan":"pro"}'` or `--properties @file.json` with single properties. Single properties win. */
function readObject(
  option: string,
  single: readonly string[] | undefined,
  onLoss: OnLoss,
  wholeOption = '',
  whole?: string,
): Record<string, unknown> | undefined {
  if (whole === undefined && single === undefined) return undefined
  const fields = whole === undefined ? {} : parseWhole(wholeOption, whole, onLoss)
  for (const text of single ?? []) {
    const [name, value] = parseAssignment(option, text, onLoss)
    if (put(fields, name.split('.'), value) === 'blocked')
      throw new UsageError(`${option}: ${printable(name)}: a part of this path has a value already`)
  }
  return fields
}

function parseWhole(option: string, text: string, onLoss: OnLoss): Record<string, unknown> {
  const json = text.startsWith('@') ? readTextFile(text.slice(1), `${option}:`) : text
  try {
    const { value, losses } = parseExact(json)
    for (const [path] of losses) onLoss(option, path)
    if (isObject(value)) return { ...value }
  } catch {
    // The error is thrown below.
  }
  throw new UsageError(`${option}: expected a JSON object, or @ and the path of a file with one`)
}
