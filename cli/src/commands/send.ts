import { readFileSync } from 'node:fs'
import { dset } from 'dset'
import type { DeliveryError, Kind } from 'trackpost'
import { call, createClient } from '../client.ts'
import { CommandError, EXIT, fileProblem, UsageError } from '../errors.ts'
import { castTimestamp } from '../import/cast.ts'
import { isObject } from '../import/json.ts'
import { parseAssignment } from '../import/mapping.ts'
import { printable, quoted } from '../output/text.ts'
import { type ConnectionFlags, readConnection, requireKey } from '../settings/connection.ts'
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

/** Resolves with the exit code. */
export async function runSend(kind: Kind, flags: SendFlags, context: CommandContext): Promise<number> {
  const connection = readConnection(flags, context.env)
  const params = readParams(flags)
  const settings = {
    ...connection,
    writeKey: requireKey(connection),
    maxRetries: flags.maxRetries,
    flushAt: 1,
  }
  const client = createClient(settings, { warn: (text) => void context.stderr.write(`trackpost: ${text}\n`) })
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

function readParams(flags: SendFlags): Record<string, unknown> {
  const { userId, anonymousId, previousId, groupId, event, name, category, messageId } = flags
  const timestamp = flags.timestamp === undefined ? { value: undefined } : castTimestamp(flags.timestamp)
  if ('problem' in timestamp)
    throw new UsageError(
      `--timestamp: expected ISO 8601, for example 2024-02-01T09:30:00Z, got ${quoted(flags.timestamp)}`,
    )
  return {
    ...{ userId, anonymousId, previousId, groupId, event, name, category, messageId },
    timestamp: timestamp.value,
    properties: readObject('propert', flags.properties, flags.property),
    traits: readObject('trait', flags.traits, flags.trait),
    context: readObject('context', undefined, flags.context),
    integrations: readObject('integration', undefined, flags.integration),
  }
}

/** Merges `--properties '{"plan":"pro"}'` or `--properties @file.json` with single properties. Single properties win. */
function readObject(
  stem: string,
  whole: string | undefined,
  single: readonly string[] | undefined,
): Record<string, unknown> | undefined {
  if (whole === undefined && single === undefined) return undefined
  const fields =
    whole === undefined ? {} : parseWhole(stem === 'propert' ? '--properties' : `--${stem}s`, whole)
  const option = stem === 'propert' ? '--property' : `--${stem}`
  for (const text of single ?? []) {
    const [name, value] = parseAssignment(option, text)
    // dset ignores names such as `__proto__`. Here they are ordinary data, so a name without a dot is set without dset.
    if (name.includes('.')) dset(fields, name, value)
    else Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return fields
}

function parseWhole(option: string, text: string): Record<string, unknown> {
  let json = text
  if (text.startsWith('@')) {
    try {
      json = readFileSync(text.slice(1), 'utf8')
    } catch (error) {
      throw new UsageError(`${option}: ${printable(text.slice(1))}: ${fileProblem(error)}`)
    }
  }
  try {
    const value: unknown = JSON.parse(json)
    if (isObject(value)) return { ...value }
  } catch {
    // The error is thrown below.
  }
  throw new UsageError(`${option}: expected a JSON object, or @ and the path of a file with one`)
}
